// Package forrst projects the events of a run to the stream of a Forrst call: server-sent events of the stream extension. [Grammar] defines
// their order. Package forrst at the root of the module implements the protocol itself.
package forrst

// Name is the name of the protocol in URLs and flags.
const Name = "forrst"
