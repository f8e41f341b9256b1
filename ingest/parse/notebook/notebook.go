// Package notebook parses Jupyter notebooks (nbformat 4).
package notebook

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// maxOutput is the longest text of an output that is read, in bytes. Longer ones are logs and data.
const maxOutput = 4000

// text is a string or a list of strings, which are its lines.
type text string

// UnmarshalJSON decodes either form. Other values are empty.
func (t *text) UnmarshalJSON(data []byte) error {
	var lines []string
	if json.Unmarshal(data, &lines) == nil {
		*t = text(strings.Join(lines, ""))
		return nil
	}
	var s string
	_ = json.Unmarshal(data, &s)
	*t = text(s)
	return nil
}

// Parse parses a notebook: cells of Markdown, code, and its outputs that are text.
func Parse(ctx context.Context, src document.Source) (document.Parsed, error) {
	var n struct {
		Cells []struct {
			Type    string `json:"cell_type"`
			Source  text   `json:"source"`
			Outputs []struct {
				Text text            `json:"text"`
				Data map[string]text `json:"data"`
			} `json:"outputs"`
		} `json:"cells"`
		Metadata struct {
			Title string `json:"title"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(src.Data, &n); err != nil {
		return document.Parsed{}, document.Refuse(err, "not a valid notebook")
	}
	p := document.Parsed{Title: n.Metadata.Title}
	for _, c := range n.Cells {
		if len(p.Blocks) > src.Limits.Blocks {
			break
		}
		switch c.Type {
		case "markdown":
			cell, err := src.Embed(ctx, document.Source{Name: "cell.md", Data: []byte(c.Source)})
			if ctx.Err() != nil || errors.Is(err, document.ErrEmbedded) {
				return document.Parsed{}, err
			}
			if err == nil {
				p.Blocks = append(p.Blocks, cell.Blocks...)
			}
		case "code":
			p.Blocks = append(p.Blocks, document.Block{Kind: document.Code, Text: string(c.Source), Fenced: true})
			for _, o := range c.Outputs {
				if s := string(o.Text + o.Data["text/plain"]); s != "" && len(s) <= maxOutput {
					p.Blocks = append(p.Blocks, document.Block{Kind: document.Code, Text: s, Fenced: true})
				}
			}
		case "raw":
			p.Blocks = append(p.Blocks, document.Block{Kind: document.Paragraph, Text: string(c.Source)})
		}
	}
	for _, b := range p.Blocks {
		if b.Kind == document.Heading && p.Title == "" {
			p.Title = b.Text
		}
	}
	return p, nil
}
