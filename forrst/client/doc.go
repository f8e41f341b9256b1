// Package client calls functions of servers that speak the Forrst protocol, such as those of package forrst, over HTTP,
// sockets ([github.com/sluice-rag/sluice/forrst/socket]) or NATS ([github.com/sluice-rag/sluice/forrst/natsrpc]).
//
//	c := client.New(client.HTTP("https://example.org/forrst", nil), client.Options{})
//	user, err := client.Call[User](ctx, c, "users.get", GetUser{ID: 1})
//
// A stream is an iterator of events. The last one has the result:
//
//	for event, err := range c.Stream(ctx, "ai.generate", Prompt{"a story"}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(string(event.Data))
//	}
//
// Errors of the server are [*Error] values. If the context of a call has a deadline, the server has it too.
package client
