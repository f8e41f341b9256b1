package event

import (
	"fmt"
	"time"
)

// Check holds the rules of a run's log, one event at a time. The zero value is ready for a run's first event.
//
//   - Sequence numbers are 1, 2, 3 …, but for a [Gap] before RunFailed; times do not step back.
//   - RunStarted is first and only first; nothing follows RunFinished or RunFailed.
//   - Then come, each at most once and in this order: QueryAnalyzed, CacheChecked, Reranked, GenerationStarted,
//     GenerationFinished, Verified, Attributed. After a cache hit there are only tokens, citations and Attributed.
//   - Calls start and end between CacheChecked and Reranked or GenerationStarted. A result follows its own start, once,
//     with the same tool. Graded stands there too, behind a retrieval that was not graded yet.
//   - Tokens and citations stand between GenerationStarted and GenerationFinished, or behind a cache hit.
//   - A run that finished has its sources, and before them a verification or a cache hit.
//   - Reasoned stands behind QueryAnalyzed and before GenerationFinished, and not behind a cache hit.
//   - Warned and ModelUsed may stand anywhere behind QueryAnalyzed. RunFailed may stand anywhere.
type Check struct {
	last     Seq
	at       time.Time
	place    place
	hit      bool // the answer comes from the cache
	ungraded int  // retrievals that no Graded judges
	open     map[CallID]call
	calls    map[CallID]bool
}

// call is a call that has no result yet.
type call struct {
	tool      string
	retrieval bool
}

// place is how far a run has come.
type place int

const (
	atStart place = iota
	atStarted
	atAnalyzed
	atWork // behind CacheChecked
	atReranked
	atAnswer // behind GenerationStarted, or a cache hit
	atAnswered
	atVerified
	atAttributed
	atPartial // the sources of an answer that is not whole are listed
	atEnd
)

// CheckLog checks a whole log; ended says whether its run must have ended.
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

// Ended tells whether the terminal event was seen.
func (c *Check) Ended() bool { return c.place == atEnd }

// Next checks the next event. After an error the check is of no further use.
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

// step takes the event if its kind may stand here.
func (c *Check) step(b Body) bool {
	switch b := b.(type) {
	case RunStarted:
		return c.move(atStarted, c.place == atStart)
	case QueryAnalyzed:
		return c.move(atAnalyzed, c.place == atStarted)
	case CacheChecked:
		c.hit = b.Hit
		if b.Hit {
			return c.move(atAnswer, c.place == atAnalyzed)
		}
		return c.move(atWork, c.place == atAnalyzed)
	case Reranked:
		return c.move(atReranked, c.place == atWork && len(c.open) == 0)
	case GenerationStarted:
		return c.move(atAnswer, (c.place == atWork || c.place == atReranked) && len(c.open) == 0)
	case Token, Cited:
		return c.place == atAnswer
	case GenerationFinished:
		return c.move(atAnswered, c.place == atAnswer && !c.hit)
	case Verified:
		return c.move(atVerified, c.place == atAnswered)
	case Attributed:
		return c.attribute()
	case Reasoned:
		return c.place >= atAnalyzed && c.place <= atAnswer && !c.hit
	case Warned, ModelUsed:
		return c.place >= atAnalyzed
	case RunFinished:
		return c.move(atEnd, c.place == atAttributed)
	case RunFailed:
		return c.move(atEnd, true)
	}
	return c.place == atWork && c.work(b)
}

func (c *Check) move(to place, ok bool) bool {
	if ok {
		c.place = to
	}
	return ok
}

// attribute takes the sources: behind the answer's check, or, of a run that was stopped, wherever no generation is open.
// Such a run can only fail then.
func (c *Check) attribute() bool {
	switch {
	case c.place == atVerified, c.place == atAnswer && c.hit:
		return c.move(atAttributed, true)
	case c.place == atWork, c.place == atReranked, c.place == atAnswered:
		return c.move(atPartial, true)
	}
	return false
}

// work takes the events of tools and of their judgement.
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
