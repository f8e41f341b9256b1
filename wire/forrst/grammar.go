package forrst

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Grammar checks the order of the events of a stream. The zero value is the state before the first event.
//
//	stream = greeting (content | progress)* (done | error) complete
//
// The numbers of progress never decrease, and Current is at most Total. The contents add up to the content of done. The document of complete has
// errors if error precedes it.
type Grammar struct {
	Text string // of the contents so far

	begun    bool
	end      string // the terminal event, once there was one
	complete bool
	last     Progress
}

// Add checks the next event.
func (g *Grammar) Add(event string, data []byte) error {
	if err := g.add(event, data); err != nil {
		return fmt.Errorf("check forrst stream: event %s: %w: %.200q", event, err, data)
	}
	return nil
}

func (g *Grammar) add(event string, data []byte) error {
	switch {
	case g.complete:
		return errors.New("it follows the end")
	case !g.begun:
		g.begun = true
		if event != EventData || string(data) != `{"status":"connected"}` {
			return errors.New("the first event is no greeting")
		}
		return nil
	case g.end != "" && event != EventComplete:
		return errors.New("it follows " + g.end)
	}
	switch event {
	case EventData:
		var c struct{ Content *string }
		if err := json.Unmarshal(data, &c); err != nil || c.Content == nil {
			return errors.New("it has no content")
		}
		g.Text += *c.Content
		return nil
	case EventProgress:
		return g.progress(data)
	case EventDone:
		g.end = event
		var a Answer
		if err := json.Unmarshal(data, &a); err != nil || a.Content != g.Text {
			return errors.New("it does not have the content of the data events")
		}
		return nil
	case EventError:
		g.end = event
		var f Failure
		if err := json.Unmarshal(data, &f); err != nil || f.Code == "" || f.Message == "" {
			return errors.New("it has no code or message")
		}
		return nil
	case EventComplete:
		g.complete = true
		var d Document
		if err := json.Unmarshal(data, &d); err != nil || d.Protocol != version || d.ID == nil || g.end == "" || (len(d.Errors) > 0) != (g.end == EventError) {
			return errors.New("the document does not fit the stream")
		}
		return nil
	}
	return errors.New("unknown event")
}

func (g *Grammar) progress(data []byte) error {
	var p Progress
	if err := json.Unmarshal(data, &p); err != nil || p.Message == "" || p.Current > p.Total ||
		p.Current < g.last.Current || p.Total < g.last.Total || p.Percent < g.last.Percent {
		return fmt.Errorf("after %+v", g.last)
	}
	g.last = p
	return nil
}

// End returns an error if the stream is not complete.
func (g *Grammar) End() error {
	if !g.complete {
		return errors.New("check forrst stream: it is not complete")
	}
	return nil
}
