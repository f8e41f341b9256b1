package client

import (
	"context"

	"github.com/sluice-rag/sluice/forrst"
)

const systemURN = "urn:cline:forrst:fn:"

// repeatable are the options of functions that only read.
var repeatable = CallOptions{Repeatable: true}

// Ping returns an error if the server cannot be reached.
func (c *Client) Ping(ctx context.Context) (forrst.Health, error) {
	return Call[forrst.Health](ctx, c, systemURN+"ping", nil, repeatable)
}

// Health checks one component, or all if the name is empty. The component self is the process.
func (c *Client) Health(ctx context.Context, component string) (forrst.Health, error) {
	in := map[string]string{}
	if component != "" {
		in["component"] = component
	}
	return Call[forrst.Health](ctx, c, systemURN+"health", in, repeatable)
}

// Capabilities returns the functions, extensions and limits of the server.
func (c *Client) Capabilities(ctx context.Context) (forrst.Capabilities, error) {
	return Call[forrst.Capabilities](ctx, c, systemURN+"capabilities", nil, repeatable)
}

// Describe describes a version of a function, or all if the version is empty.
func (c *Client) Describe(ctx context.Context, function, version string) (forrst.Description, error) {
	in := map[string]string{"function": function}
	if version != "" {
		in["version"] = version
	}
	return Call[forrst.Description](ctx, c, systemURN+"describe", in, repeatable)
}
