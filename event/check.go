package event

import (
	"fmt"
	"time"
)

// Check holds the rules of a run's log, one event at a time. The zero value is ready for a run's first event.
//
//   - Sequence numbers are 1, 2, 3 …; times do not step back.
//   - RunStarted is first and only first; nothing follows RunFinished or RunFailed.
//   - A result follows its own start, once, with the same tool.
//   - QueryAnalyzed comes before CacheChecked, and that before all work, each at most once.
//   - Tokens and citations stand between GenerationStarted and GenerationFinished, or after a cache hit.
//   - A run that finished was analyzed, has its sources listed, and has no call or generation open.
type Check struct {
	last       Seq
	at         time.Time
	ended      bool
	analyzed   bool
	cache      bool
	hit        bool
	generating bool
	generated  bool
	verified   bool
	attributed bool
	open       map[CallID]string
	calls      map[CallID]bool
}

// CheckLog checks a whole log; ended says whether its run must have ended.
func CheckLog(es []Event, ended bool) error {
	var c Check
	for _, e := range es {
		if err := c.Next(e); err != nil {
			return err
		}
	}
	if ended && !c.ended {
		return fmt.Errorf("check log: no terminal event after %d events", len(es))
	}
	return nil
}

// Ended tells whether the terminal event was seen.
func (c *Check) Ended() bool { return c.ended }

// Next checks the next event. An error leaves the check as it was.
func (c *Check) Next(e Event) error {
	if e.Body == nil {
		return fmt.Errorf("check event %d: no body", e.Seq)
	}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("check event %d (%s): %s", e.Seq, e.Body.Kind(), fmt.Sprintf(format, args...))
	}
	_, start := e.Body.(RunStarted)
	switch {
	case c.ended:
		return fail("the run has ended")
	case e.Seq != c.last+1:
		return fail("want sequence number %d", c.last+1)
	case e.At.Before(c.at):
		return fail("its time is before the last event's")
	case start != (e.Seq == 1):
		return fail("run_started is the first event and no other")
	}
	if why := c.step(e.Body); why != "" {
		return fail("%s", why)
	}
	c.last, c.at, c.ended = e.Seq, e.At, Terminal(e.Body)
	return nil
}

// step checks what the kind of event asks for and notes it. It gives the rule that is broken, if one is.
func (c *Check) step(b Body) string {
	switch b := b.(type) {
	case QueryAnalyzed:
		return once(&c.analyzed, !c.cache, "analysis comes first")
	case CacheChecked:
		why := once(&c.cache, c.analyzed, "the cache is asked after the analysis")
		if why == "" {
			c.hit = b.Hit
		}
		return why
	case ToolCalled:
		return c.start(b.Call, b.Tool)
	case RetrievalStarted:
		return c.start(b.Call, b.Tool)
	case ToolReturned:
		return c.finish(b.Call, b.Tool)
	case RetrievalFinished:
		return c.finish(b.Call, b.Tool)
	case GenerationStarted:
		if c.generating || !c.cache || c.hit {
			return "a generation follows a cache miss and no open generation"
		}
		c.generating = true
	case Token, Cited:
		if !c.generating && !c.hit {
			return "no generation is open"
		}
	case GenerationFinished:
		if !c.generating {
			return "no generation is open"
		}
		c.generating, c.generated = false, true
	case Verified:
		return once(&c.verified, c.generated && !c.generating, "verification follows a generation")
	case Attributed:
		return once(&c.attributed, c.cache && !c.generating, "sources follow the answer")
	case RunFinished:
		if !c.analyzed || !c.attributed || c.generating || len(c.open) > 0 {
			return "a finished run was analyzed, has sources and nothing open"
		}
	case RunStarted, Graded, Reranked, Warned, RunFailed:
	default:
		return fmt.Sprintf("%T is not a body: bodies are values", b)
	}
	return ""
}

func once(seen *bool, inPlace bool, rule string) string {
	if *seen || !inPlace {
		return rule + ", once"
	}
	*seen = true
	return ""
}

func (c *Check) start(id CallID, tool string) string {
	if !c.cache || c.hit {
		return "work follows a cache miss"
	}
	if c.calls[id] || id < 1 {
		return fmt.Sprintf("call %d is used or not positive", id)
	}
	if c.open == nil {
		c.open, c.calls = map[CallID]string{}, map[CallID]bool{}
	}
	c.open[id], c.calls[id] = tool, true
	return ""
}

func (c *Check) finish(id CallID, tool string) string {
	if got, ok := c.open[id]; !ok || got != tool {
		return fmt.Sprintf("call %d of %q is not open", id, tool)
	}
	delete(c.open, id)
	return ""
}
