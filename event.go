package sluice

import (
	"github.com/sluice-rag/sluice/corpus/filter"
	"github.com/sluice-rag/sluice/event"
)

// Event is something that happens in a run. The set of its types is closed: those below.
type Event = event.Body

// The types of events. See package event for their fields and order.
type (
	RunStarted         = event.RunStarted
	QueryAnalyzed      = event.QueryAnalyzed
	CacheChecked       = event.CacheChecked
	ToolCalled         = event.ToolCalled
	ToolReturned       = event.ToolReturned
	RetrievalStarted   = event.RetrievalStarted
	RetrievalFinished  = event.RetrievalFinished
	Graded             = event.Graded
	Reranked           = event.Reranked
	GenerationStarted  = event.GenerationStarted
	Reasoned           = event.Reasoned
	Token              = event.Token
	Cited              = event.Cited
	GenerationFinished = event.GenerationFinished
	Verified           = event.Verified
	Attributed         = event.Attributed
	ModelUsed          = event.ModelUsed
	Warned             = event.Warned
	RunFinished        = event.RunFinished
	RunFailed          = event.RunFailed
)

// Question is a question with all of its fields; only Query is required.
type Question = event.Question

// Filter limits the documents that a question reads, by their metadata; see package corpus/filter.
type Filter = filter.Filter

// Source is a passage that an answer is based on.
type Source = event.Source

// State is what the events of a run add up to.
type State = event.State
