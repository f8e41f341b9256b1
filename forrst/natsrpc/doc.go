// Package natsrpc carries calls of package forrst over NATS.
//
// A server, and a client:
//
//	err := natsrpc.Serve(ctx, nc, "users", server, natsrpc.Options{})
//	c := client.New(natsrpc.New(nc, "users", natsrpc.ClientOptions{}), client.Options{})
//
// Permissions of NATS protect calls from each other: a client that may subscribe to the inboxes of others can read their replies and end
// their calls. A server publishes to the reply subject that a client names, so it should have the permission to publish to inboxes only.
//
// A request is a message on the subject of the service with a reply inbox and the request document as its payload. The
// servers of a service are a queue group: one of them answers. All messages of the reply go to the inbox, in this order:
//
//   - The acceptance has no payload. Its header Forrst-Control is the control subject of the call, and Forrst-Lease the lease in
//     milliseconds.
//   - The others have the number Forrst-Seq, from 1. A gap is an error. Their payload is a response document, a server-sent
//     event or a comment. If it does not fit in one message, all parts but the last have the header Forrst-More. The last
//     message of the reply has Forrst-Last.
//   - The first of them has the other headers of the reply, and Forrst-Status for a document.
//
// The client sends one of two messages to the control subject: "ack N" when it has used the message N, and "gone" when it
// leaves the call. A server stops to send while [Window] messages, or [WindowBytes] bytes or more, are not acked; a client
// acks at the latest after half of either. Acks also renew the lease; clients repeat them after a third of it. A server ends a call whose lease has passed. So an
// abandoned call ends at once if its client sends "gone", and within the lease if the client or its network fails. Acks have
// the inbox as their reply subject: NATS reports that no server has the control subject, and a server that does not know
// the call answers with the header Forrst-Unknown. So a client notices the loss of its server after a third of the lease.
//
// The header Forrst-Sent of a request is the time in microseconds of Unix time at which it was sent. Deadlines count from
// it, so a request that has waited for too long in NATS is answered with DEADLINE_EXCEEDED and does not run. Times in the future, and
// more than an hour ago, are moved into that range. The difference between the clocks of client and server shortens or
// lengthens deadlines; without the header the time of arrival is used.
//
// Headers such as X-Forrst-Trace-Id, Traceparent and Authorization have the same names as over HTTP.
package natsrpc

import "time"

// The limits of what a server sends ahead of the acks.
const (
	Window      = 64
	WindowBytes = 1 << 20
)

// Names of headers.
const (
	headerControl = "Forrst-Control"
	headerLease   = "Forrst-Lease"
	headerSeq     = "Forrst-Seq"
	headerMore    = "Forrst-More"
	headerLast    = "Forrst-Last"
	headerStatus  = "Forrst-Status"
	headerUnknown = "Forrst-Unknown"
	headerSent    = "Forrst-Sent"
)

const (
	defaultQueue    = "forrst"
	defaultMaxCalls = 1024
	defaultLease    = 30 * time.Second
	defaultGrace    = 10 * time.Second
	defaultAccept   = 5 * time.Second
	// maxWait is how long a request may have waited in NATS.
	maxWait = time.Hour
)
