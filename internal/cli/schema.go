package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/server"
)

type schemaCmd struct {
	Protocol string `arg:"" optional:"" help:"Protocol, or asyncapi for the AsyncAPI document of all protocols. Without it, the command lists them."`
}

// asyncAPI is the name of the document of all protocols.
const asyncAPI = "asyncapi"

// Run prints a document that describes a protocol.
func (c *schemaCmd) Run(e *env) error {
	protocols := app.Descriptions()
	var doc []byte
	var err error
	i := slices.IndexFunc(protocols, func(p server.Description) bool { return p.Name == c.Protocol })
	switch {
	case i >= 0:
		doc, err = server.Schema(protocols[i])
	case c.Protocol == asyncAPI:
		doc, err = server.AsyncAPI(protocols, version())
	default:
		names := []string{asyncAPI}
		for _, p := range protocols {
			names = append(names, p.Name)
		}
		slices.Sort(names)
		if doc = []byte(strings.Join(names, "\n")); c.Protocol != "" {
			return fmt.Errorf("schema: there is no protocol %q; there are %s", c.Protocol, strings.Join(names, ", "))
		}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Out, "%s\n", doc)
	return err
}
