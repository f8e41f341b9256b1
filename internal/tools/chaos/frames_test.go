//go:build linux

package chaos_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/sluice-rag/sluice/wire"
	"github.com/sluice-rag/sluice/wire/sse"
)

// textFields are the members of the frames of the protocols that have a piece of the answer.
var textFields = []string{"content", "delta", "text"}

// joined returns frames with each series of pieces of text as one frame: how many pieces are sent together depends on when they are read. It is an error
// if the frames are not in order.
func joined(frames []sse.Event) (out []sse.Event, err error) {
	var position wire.Cursor
	rest, field, text := "", "", ""
	for _, f := range frames {
		if f.ID != "" {
			c, err := wire.ParseCursor(f.ID)
			if err != nil {
				return nil, err
			}
			if c.Compare(position) <= 0 {
				return nil, fmt.Errorf("the frame %s comes after %s", f.ID, position)
			}
			position = c
		}
		if r, at, s := piece(f); at != "" && r == rest && at == field {
			text += s
			out[len(out)-1] = sse.Event{ID: f.ID, Name: f.Name, Data: r + text}
		} else {
			out = append(out, sse.Event{ID: f.ID, Name: f.Name, Data: f.Data})
			if rest, field, text = r, at, s; at != "" {
				out[len(out)-1].Data = r + s
			}
		}
	}
	return out, nil
}

// piece returns the text of a frame that has a piece of the answer, the place of its member, and everything else. The numbers of such frames depend on how
// many pieces are sent together.
func piece(f sse.Event) (rest, place, text string) {
	var members map[string]any
	if json.Unmarshal([]byte(f.Data), &members) != nil {
		return "", "", ""
	}
	place, text = take(members)
	if place == "" {
		return "", "", ""
	}
	delete(members, "sequence_number")
	other, _ := json.Marshal(members) // it was JSON
	return f.Name + string(other), place, text
}

// take removes the piece of the answer from a value of JSON, and returns its place and text; no place: there is none.
func take(value any) (place, text string) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range textFields {
			if s, ok := v[name].(string); ok {
				delete(v, name)
				return "." + name, s
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if place, text = take(v[name]); place != "" {
				return "." + name + place, text
			}
		}
	case []any:
		for i, e := range v {
			if place, text = take(e); place != "" {
				return "[" + strconv.Itoa(i) + "]" + place, text
			}
		}
	}
	return "", ""
}
