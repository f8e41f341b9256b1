package tree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sluice-rag/sluice/ingest/parse/document"
)

// ParseJSON parses a value of JSON (RFC 8259), or several of them, as in JSON lines, which are the elements of a list. Values that are null or empty
// are left out. The error is ErrNoTree if it is not valid.
func ParseJSON(ctx context.Context, s string, limits document.Limits) (document.Parsed, error) {
	j := jsonReader{ctx: ctx, d: json.NewDecoder(strings.NewReader(s))}
	j.d.UseNumber()
	root := &node{list: true}
	for {
		n, err := j.value(0)
		if errors.Is(err, io.EOF) {
			break
		}
		if ctx.Err() != nil {
			return document.Parsed{}, ctx.Err()
		}
		if err != nil {
			return document.Parsed{}, errors.Join(ErrNoTree, err)
		}
		root.items = append(root.items, n)
	}
	if len(root.items) == 1 {
		root = root.items[0]
	}
	r := &renderer{Builder: document.NewBuilder(limits), ctx: ctx}
	r.render(root, nil, 1)
	if r.Full() { // the paths make it too large
		return document.Parsed{}, ErrNoTree
	}
	title := ""
	if root.object() {
		title = root.field("title", "name")
	}
	return document.Parsed{Title: title, Blocks: r.Blocks}, ctx.Err()
}

type jsonReader struct {
	ctx   context.Context
	d     *json.Decoder
	count int
}

var errTree = errors.New("too large")

// value reads a value. The error is io.EOF if there is none.
func (j *jsonReader) value(depth int) (*node, error) {
	t, err := j.d.Token()
	if err != nil {
		return nil, err
	}
	return j.rest(t, depth)
}

// rest reads the rest of a value that begins with a token.
func (j *jsonReader) rest(t json.Token, depth int) (*node, error) {
	if j.count++; j.count > maxNodes || depth > maxDepth {
		return nil, errTree
	}
	if j.count%4096 == 0 && j.ctx.Err() != nil {
		return nil, j.ctx.Err()
	}
	d, ok := t.(json.Delim)
	if !ok {
		switch t := t.(type) {
		case nil:
			return &node{}, nil
		case string:
			return &node{text: t}, nil
		}
		return &node{text: fmt.Sprint(t)}, nil
	}
	n := &node{list: d == '['}
	if !n.list {
		n.keys = []string{}
	}
	for j.d.More() {
		if !n.list {
			k, err := j.d.Token()
			if err != nil {
				return nil, noEnd(err)
			}
			n.keys = append(n.keys, k.(string)) // the decoder checks that it is one
		}
		c, err := j.value(depth + 1)
		if err != nil {
			return nil, noEnd(err)
		}
		n.items = append(n.items, c)
	}
	if _, err := j.d.Token(); err != nil {
		return nil, noEnd(err)
	}
	return n, nil
}

func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
