package rpc

import (
	"context"
	"fmt"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/server"
)

// checks returns the checks of the health function: one for each part of the server, with the states that /readyz shows, and one for the models.
func checks(o Options) map[string]func(ctx context.Context) error {
	out := map[string]func(ctx context.Context) error{}
	for _, name := range o.PartNames {
		out[name] = func(ctx context.Context) error { return partError(o.Parts(ctx)[name]) }
	}
	if o.Models != nil {
		out["model"] = func(ctx context.Context) error { return partError(o.Models(ctx)) }
	}
	return out
}

// partError returns the state of a part as the result of a check.
func partError(p server.Part) error {
	switch p.Status {
	case server.PartOK:
		return nil
	case server.PartDegraded:
		return forrst.Degraded("%s", p.Detail)
	}
	return fmt.Errorf("%s: %s", p.Status, p.Detail)
}
