package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sluice-rag/sluice/ingest/parse"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
)

type parseCmd struct {
	config.Parsing
	JSON bool   `name:"json" help:"Print one JSON object per block: kind, level, page, text."`
	File string `arg:"" help:"Document."`
}

// parsedBlock is a line of the output with --json.
type parsedBlock struct {
	Kind  string `json:"kind"`
	Level int    `json:"level,omitempty"`
	Page  int    `json:"page,omitempty"`
	Text  string `json:"text"`
}

// Run prints what is read of a document, with the limits of indexing and without a data folder.
func (c *parseCmd) Run(e *env) (err error) {
	if info, err := os.Stat(c.File); err == nil && info.IsDir() {
		return usagef("parse: %s is a folder: name a file in it", c.File)
	}
	data, err := readAtMost(c.File, int64(e.cfg.Parsing.MaxFileBytes))
	if err != nil {
		return fmt.Errorf("parse: %w", err)
	}
	parsers, err := app.OpenParsers(e.cfg.Parsing, 1, e.logger)
	if err != nil {
		return fmt.Errorf("parse: %w", err)
	}
	defer func() { err = errors.Join(err, parsers.Close()) }()
	p, err := parsers.Parse(e.ctx, c.File, data, parse.Limits{Bytes: int(e.cfg.Parsing.MaxFileBytes)})
	if err != nil {
		return fmt.Errorf("parse: %w", err)
	}
	var out strings.Builder
	if c.JSON {
		to := json.NewEncoder(&out)
		to.SetEscapeHTML(false)
		for _, b := range p.Blocks {
			if err := to.Encode(parsedBlock{b.Kind.String(), b.Level, b.Page, b.Text}); err != nil {
				return err
			}
		}
	} else {
		writeParsed(&out, p)
	}
	_, err = io.WriteString(e.Out, out.String())
	return err
}

// readAtMost reads a file of at most limit bytes.
func readAtMost(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: larger than the limit of %d bytes", path, limit)
	}
	return data, err
}

// writeParsed writes the format, title and metadata of a document, and its blocks as Markdown. A line shows where a page begins.
func writeParsed(w io.Writer, p parse.Parsed) {
	fmt.Fprintf(w, "%s: %s\n", p.MediaType, p.Title)
	if meta, err := json.Marshal(p.Meta); err == nil && string(meta) != "{}" {
		fmt.Fprintf(w, "metadata: %s\n", meta)
	}
	page := 0
	for _, b := range p.Blocks {
		if b.Page > page {
			page = b.Page
			fmt.Fprintf(w, "\n--- page %d ---\n", page)
		}
		if !b.Tight {
			fmt.Fprintln(w)
		}
		switch b.Kind {
		case parse.Heading:
			fmt.Fprintf(w, "%s %s\n", strings.Repeat("#", max(b.Level, 1)), b.Text)
		case parse.ListItem:
			fmt.Fprintf(w, "%s%s\n", strings.Repeat("  ", max(b.Level-1, 0)), b.Text)
		case parse.Code:
			fmt.Fprintf(w, "```\n%s\n```\n", b.Text)
		case parse.TableRow:
			fmt.Fprintf(w, "| %s |\n", b.Text)
		default:
			fmt.Fprintln(w, b.Text)
		}
		for _, k := range b.PageBreaks {
			page = k.Page
		}
	}
}
