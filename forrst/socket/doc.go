// Package socket carries calls of package forrst over Unix sockets and TCP.
//
// Both sides send frames: the length of the payload in bytes, as 4 bytes in big-endian order, and the payload. The payload of a client
// is a request document. The payloads of a server are one response document, or server-sent events and comments as over
// HTTP, up to the event complete. A connection carries one call at a time: the client sends nothing until the reply has
// ended, and closes the connection to end the call. There are no headers.
//
// A server:
//
//	l, err := socket.Listen("/run/app.sock")
//	err = socket.Serve(ctx, l, server, socket.Options{})
//
// A client:
//
//	c := client.New(socket.New("unix", "/run/app.sock", socket.ClientOptions{}), client.Options{})
package socket
