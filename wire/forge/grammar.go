package forge

import (
	"fmt"
)

// Grammar checks the order of a stream's events, one name at a time. The zero value stands before the first.
//
//	query_analysis (cache_hit token* sources done
//	              | cache_miss round* rerank_result? generation_start token* verification sources done)
//	round = tool_call tool_result | retrieval_start retrieval_result crag_evaluation?
//
// Rounds may interleave; each result follows a start of the same tool. A recoverable error may stand anywhere behind
// query_analysis. One that is not recoverable may stand anywhere and is the last event; sources may come before it.
type Grammar struct {
	at      place
	started map[string]int // calls that are open, by start's name and tool
	results int            // results that no crag_evaluation has judged
}

type place int

const (
	atStart place = iota
	atAnalysis
	atHit
	atRounds
	atReranked
	atTokens
	atVerified
	atSources
	atPartSources // the sources of an answer that is not whole: only an error can follow
	atEnd
)

// Next takes the next event's name, with its tool if it has one, and whether it is a recoverable error.
func (g *Grammar) Next(name, tool string, recoverable bool) error {
	if g.started == nil {
		g.started = map[string]int{}
	}
	if g.at == atEnd {
		return fmt.Errorf("check forge stream: %s follows the last event", name)
	}
	if name == "error" {
		if !recoverable {
			g.at = atEnd
			return nil
		}
		if g.at != atStart {
			return nil
		}
	}
	if !g.move(name, tool) {
		return fmt.Errorf("check forge stream: %s %s is out of place (%d)", name, tool, g.at)
	}
	return nil
}

// Ended tells whether the stream is whole.
func (g *Grammar) Ended() bool { return g.at == atEnd }

func (g *Grammar) move(name, tool string) bool {
	from, to := g.at, g.at
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
		// Sources found so far precede an error that ends the stream, from any place behind the cache.
		ok, to = from > atAnalysis && from < atSources, atPartSources
		if from == atVerified || from == atHit {
			to = atSources
		}
	case "done":
		ok, to = from == atSources, atEnd
	}
	if ok {
		g.at = to
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
