package wire

import (
	"slices"

	"github.com/sluice-rag/sluice/event"
)

// Usage is the number of model calls and tokens of a run.
type Usage struct {
	InputTokens  int      `json:"input_tokens"`
	OutputTokens int      `json:"output_tokens"`
	Calls        int      `json:"calls"`
	Models       []string `json:"models"`              // in the order of their first calls
	Estimated    bool     `json:"estimated,omitempty"` // the provider did not report the tokens of some calls
}

// UsageOf returns the usage of a run, or nil if no model was called.
func UsageOf(s *event.State) *Usage {
	if len(s.Usage) == 0 {
		return nil
	}
	sum := s.Cost()
	u := &Usage{InputTokens: sum.Input, OutputTokens: sum.Output, Calls: sum.Calls, Estimated: sum.Estimated, Models: []string{}}
	for _, spent := range s.Usage {
		u.AddModel(spent.Model)
	}
	return u
}

// AddModel adds the name of a model that was called, unless it has been added.
func (u *Usage) AddModel(name string) {
	if !slices.Contains(u.Models, name) {
		u.Models = append(u.Models, name)
	}
}
