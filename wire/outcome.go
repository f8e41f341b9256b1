package wire

import "github.com/sluice-rag/sluice/event"

// Confidence tells how far an answer can be trusted.
type Confidence struct {
	Probability  float64 `json:"probability" description:"Estimated probability that the answer is right, 0 to 1; 0 for an abstention."`
	ClaimSupport float64 `json:"claimSupport" description:"Share of the claims in the answer that the sources support, 0 to 1."`
	Abstained    bool    `json:"abstained" description:"The documents do not hold an answer."`
	Flagged      bool    `json:"flagged" description:"The sources do not support the answer."`
	Cached       bool    `json:"cached"`
}

// ConfidenceOf returns the confidence in an answer, or nil if it was not checked.
func ConfidenceOf(s *event.State) *Confidence {
	if s.Check == nil && !s.Cached() {
		return nil
	}
	return &Confidence{Round(s.Confidence), Round(s.ClaimSupport()), s.Abstained(), s.Check != nil && s.Check.Flagged, s.Cached()}
}

// Cost tells what a run cost.
type Cost struct {
	InputTokens  int            `json:"inputTokens"`
	OutputTokens int            `json:"outputTokens"`
	Calls        int            `json:"calls" description:"Requests to models."`
	Models       []string       `json:"models"`
	Estimated    bool           `json:"estimated" description:"A provider did not report the tokens of some calls."`
	Fee          *event.Credits `json:"feeMicroCredits,omitempty" description:"What the account was charged, in millionths of a credit."`
	Balance      *event.Credits `json:"balanceMicroCredits,omitempty" description:"Balance of the account after it."`
}

// CostOf returns the cost of a run, or nil if no model was called and nothing was charged.
func CostOf(s *event.State) *Cost {
	usage := UsageOf(s)
	charged := s.Settlement != nil && s.Settlement.Fee != 0
	if usage == nil && !charged {
		return nil
	}
	c := &Cost{Models: []string{}}
	if usage != nil {
		c = &Cost{InputTokens: usage.InputTokens, OutputTokens: usage.OutputTokens, Calls: usage.Calls, Models: usage.Models, Estimated: usage.Estimated}
	}
	if charged {
		c.Fee, c.Balance = &s.Settlement.Fee, &s.Settlement.After
	}
	return c
}

// FinishReason returns why the text of a run ended: stop, length, content-filter or other.
func FinishReason(s *event.State) string {
	switch s.Stop {
	case event.StopLength:
		return "length"
	case event.StopFiltered:
		return "content-filter"
	case event.StopIncomplete:
		return "other"
	}
	return "stop"
}
