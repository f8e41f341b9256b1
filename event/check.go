package event

import (
	"fmt"
	"time"
)

// Check checks the rules of a run's log, one event at a time. The zero value is ready for a run's first event.
//
//   - Sequence numbers are 1, 2, 3 …, except for a [Gap] before RunFailed; times do not decrease.
//   - RunStarted is the first event and only the first; nothing follows RunFinished or RunFailed.
//   - After it come, each at most once and in this order: HistorySummarized, QueryAnalyzed, CacheChecked, Reranked, GenerationStarted,
//     GenerationFinished, Verified, Attributed, Settled. After a cache hit there are only tokens, citations, Attributed and Settled.
//   - Only RunFinished follows Settled, besides warnings and model usage.
//   - Calls start and end between CacheChecked and Reranked or GenerationStarted. A result follows its own start, once,
//     with the same tool. Graded is there too, after a retrieval that was not graded yet.
//   - Tokens and citations are between GenerationStarted and GenerationFinished, or after a cache hit.
//   - A finished run has its sources, and before them a verification or a cache hit.
//   - Reasoned is between QueryAnalyzed and GenerationFinished, and not after a cache hit.
//   - Warned and ModelUsed may be anywhere after QueryAnalyzed or HistorySummarized. RunFailed may be anywhere.
type Check struct {
	last     Seq
	at       time.Time
	phase    phase
	hit      bool // the answer comes from the cache
	ungraded int  // retrievals that no Graded covers
	open     map[CallID]call
	calls    map[CallID]bool
}

// call is a call that has no result yet.
type call struct {
	tool      string
	retrieval bool
}

// phase is how far a run is.
type phase int

const (
	atStart phase = iota
	atStarted
	atSummarized
	atAnalyzed
	atWork // after CacheChecked
	atReranked
	atAnswer // after GenerationStarted, or a cache hit
	atAnswered
	atVerified
	atAttributed
	atSettled
	atPartial // the sources of an incomplete answer are listed
	atEnd
)

// CheckLog checks a whole log. If ended is set, it must have a terminal event.
func CheckLog(es []Event, ended bool) error {
	var c Check
	for _, e := range es {
		if err := c.Next(e); err != nil {
			return err
		}
	}
	if ended && !c.Ended() {
		return fmt.Errorf("check log: no terminal event after %d events", len(es))
	}
	return nil
}

// Ended reports whether the terminal event was checked.
func (c *Check) Ended() bool { return c.phase == atEnd }

// Next checks the next event. Do not use c after an error.
func (c *Check) Next(e Event) error {
	if e.Body == nil {
		return fmt.Errorf("check event %d: no body", e.Seq)
	}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("check event %d (%s): %s", e.Seq, e.Body.Kind(), fmt.Sprintf(format, args...))
	}
	_, start := e.Body.(RunStarted)
	switch {
	case c.Ended():
		return fail("the run has ended")
	case !e.Follows(c.last):
		return fail("want sequence number %d", c.last+1)
	case e.At.Before(c.at):
		return fail("its time is before the last event's")
	case start != (e.Seq == 1):
		return fail("run_started is the first event and no other")
	}
	if !c.step(e.Body) {
		return fail("out of place")
	}
	c.last, c.at = e.Seq, e.At
	return nil
}

// step reports whether an event of this kind is valid here, and advances the phase.
func (c *Check) step(b Body) bool {
	switch b := b.(type) {
	case RunStarted:
		return c.move(atStarted, c.phase == atStart)
	case HistorySummarized:
		return c.move(atSummarized, c.phase == atStarted)
	case QueryAnalyzed:
		return c.move(atAnalyzed, c.phase == atStarted || c.phase == atSummarized)
	case CacheChecked:
		c.hit = b.Hit
		if b.Hit {
			return c.move(atAnswer, c.phase == atAnalyzed)
		}
		return c.move(atWork, c.phase == atAnalyzed)
	case Reranked:
		return c.move(atReranked, c.phase == atWork && len(c.open) == 0)
	case GenerationStarted:
		return c.move(atAnswer, (c.phase == atWork || c.phase == atReranked) && len(c.open) == 0)
	case Token, Cited:
		return c.phase == atAnswer
	case GenerationFinished:
		return c.move(atAnswered, c.phase == atAnswer && !c.hit)
	case Verified:
		return c.move(atVerified, c.phase == atAnswered)
	case Attributed:
		return c.attribute()
	case Reasoned:
		return c.phase >= atAnalyzed && c.phase <= atAnswer && !c.hit
	case Warned, ModelUsed:
		return c.phase >= atSummarized
	case Settled:
		return c.move(atSettled, c.phase == atAttributed)
	case RunFinished:
		return c.move(atEnd, c.phase == atAttributed || c.phase == atSettled)
	case RunFailed:
		return c.move(atEnd, true)
	}
	return c.phase == atWork && c.work(b)
}

func (c *Check) move(to phase, ok bool) bool {
	if ok {
		c.phase = to
	}
	return ok
}

// attribute checks Attributed: after the verification or, in a run that was stopped, wherever no generation is open. Such a
// run can only fail then.
func (c *Check) attribute() bool {
	switch {
	case c.phase == atVerified, c.phase == atAnswer && c.hit:
		return c.move(atAttributed, true)
	case c.phase == atWork, c.phase == atReranked, c.phase == atAnswered:
		return c.move(atPartial, true)
	}
	return false
}

// work checks the events of tools and grading.
func (c *Check) work(b Body) bool {
	switch b := b.(type) {
	case ToolCalled:
		return c.start(b.Call, call{b.Tool, false})
	case RetrievalStarted:
		return c.start(b.Call, call{b.Tool, true})
	case ToolReturned:
		return c.finish(b.Call, call{b.Tool, false})
	case RetrievalFinished:
		c.ungraded++
		return c.finish(b.Call, call{b.Tool, true})
	case Graded:
		ok := c.ungraded > 0
		c.ungraded = 0
		return ok
	}
	return false
}

func (c *Check) start(id CallID, started call) bool {
	if c.calls[id] || id < 1 {
		return false
	}
	if c.open == nil {
		c.open, c.calls = map[CallID]call{}, map[CallID]bool{}
	}
	c.open[id], c.calls[id] = started, true
	return true
}

func (c *Check) finish(id CallID, finished call) bool {
	if started, ok := c.open[id]; !ok || started != finished {
		return false
	}
	delete(c.open, id)
	return true
}
