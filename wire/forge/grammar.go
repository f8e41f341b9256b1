package forge

import (
	"fmt"
)

// Grammar checks the order of the events of a stream, one event at a time. The zero value is the state before the first
// event.
//
//	query_analysis (cache_hit token* sources done
//	              | cache_miss call* rerank_result? generation_start token* verification sources done)
//	call = tool_call tool_result | retrieval_start retrieval_result crag_evaluation?
//
// Calls may interleave; each result follows a start of the same tool. A recoverable error may occur anywhere after
// query_analysis. An error that is not recoverable may occur anywhere and is the last event; sources may precede it.
type Grammar struct {
	state   state
	started map[string]int // calls that have not returned, by event name and tool
	results int            // results since the last crag_evaluation
}

type state int

const (
	atStart state = iota
	atAnalysis
	atHit
	atRounds
	atReranked
	atTokens
	atVerified
	atSources
	atPartSources // sources of an incomplete answer: only an error may follow
	atEnd
)

// Next checks the next event. It is given the name of the event, the tool if the event has one, and whether it is a
// recoverable error.
func (g *Grammar) Next(name, tool string, recoverable bool) error {
	if g.started == nil {
		g.started = map[string]int{}
	}
	if g.state == atEnd {
		return fmt.Errorf("check forge stream: %s follows the last event", name)
	}
	if name == "error" {
		if !recoverable {
			g.state = atEnd
			return nil
		}
		if g.state != atStart {
			return nil
		}
	}
	if !g.move(name, tool) {
		return fmt.Errorf("check forge stream: %s %s is not allowed here (state %d)", name, tool, g.state)
	}
	return nil
}

// Ended reports whether the stream is complete.
func (g *Grammar) Ended() bool { return g.state == atEnd }

func (g *Grammar) move(name, tool string) bool {
	from, to := g.state, g.state
	ok := false
	switch name {
	case "query_analysis":
		ok, to = from == atStart, atAnalysis
	case "cache_hit":
		ok, to = from == atAnalysis, atHit
	case "cache_miss":
		ok, to = from == atAnalysis, atRounds
	case "tool_call", "retrieval_start":
		ok = from == atRounds
		g.started[name+" "+tool]++
	case "tool_result":
		ok = from == atRounds && g.finish("tool_call "+tool)
	case "retrieval_result":
		ok = from == atRounds && g.finish("retrieval_start "+tool)
		g.results++
	case "crag_evaluation":
		ok = from == atRounds && g.results > 0
		g.results = 0
	case "rerank_result":
		ok, to = from == atRounds && g.idle(), atReranked
	case "generation_start":
		ok, to = (from == atRounds && g.idle()) || from == atReranked, atTokens
	case "token":
		ok = from == atTokens || from == atHit
	case "verification":
		ok, to = from == atTokens, atVerified
	case "sources":
		// Sources may precede an error that ends the stream, at any point after the cache lookup.
		ok, to = from > atAnalysis && from < atSources, atPartSources
		if from == atVerified || from == atHit {
			to = atSources
		}
	case "done":
		ok, to = from == atSources, atEnd
	}
	if ok {
		g.state = to
	}
	return ok
}

func (g *Grammar) finish(start string) bool {
	g.started[start]--
	return g.started[start] >= 0
}

func (g *Grammar) idle() bool {
	for _, n := range g.started {
		if n > 0 {
			return false
		}
	}
	return true
}
