package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/lang"
	"github.com/sluice-rag/sluice/model"
	"github.com/sluice-rag/sluice/prompt"
)

// Options are those of [NewModel]. The zero value works.
type Options struct {
	Timeout  time.Duration // for all claims of an answer; default 8 s, and at most a quarter of the run's remaining time
	Parallel int           // concurrent requests; default 4
	Batch    int           // claims per request; default 4
}

const (
	maxShown     = 2000 // bytes of a passage shown to the model
	minShown     = 300
	maxCited     = 8   // passages of a claim shown to the model
	partialScore = 0.6 // score of a claim that a model judges partially supported
)

// modelVerifier is the [Verifier] that asks a model.
type modelVerifier struct {
	chat     model.Chat
	prompts  *prompt.Set
	fallback Verifier
	Options
}

// NewModel returns the [Verifier] that asks a model whether the cited passages entail a claim, in concurrent batches.
// Contradicted claims are unsupported. A claim without citations is unsupported without asking. A claim with a number that
// none of its passages contains is at most partially supported, because a model may miscount or overlook it. The claims of
// a batch that fails or is late are checked by then; By names both verifiers in that case, as in "qwen + overlap". Each
// reason is reported to the trace once.
func NewModel(chat model.Chat, prompts *prompt.Set, then Verifier, o Options) Verifier {
	o.Timeout = cmp.Or(o.Timeout, 8*time.Second)
	o.Parallel = cmp.Or(o.Parallel, 4)
	o.Batch = cmp.Or(max(o.Batch, 0), 4)
	return &modelVerifier{chat, prompts, then, o}
}

// Verify implements [Verifier].
func (m *modelVerifier) Verify(ctx context.Context, question string, claims []Claim) (Check, error) {
	if !slices.ContainsFunc(claims, askable) {
		return m.fallback.Verify(ctx, question, claims)
	}
	share, cancel := prompt.WithShare(ctx, m.Timeout, 4)
	defer cancel()
	budget := prompt.PassageBudget(m.chat.Limits(share))
	out := Check{Verdicts: make([]Verdict, len(claims))}
	for i, c := range claims {
		out.Verdicts[i] = Verdict{Claim: c.Text, Verdict: event.Unsupported}
	}
	batches := m.batches(claims, budget)
	by := make([]string, len(batches))
	errs := prompt.ForEach(len(batches), m.Parallel, func(i int) error {
		own, answered := model.TrackModel(share)
		err := m.judge(own, question, batches[i], out.Verdicts, budget)
		by[i] = answered(m.chat.Name())
		return prompt.ShareError(ctx, share, m.chat.Name(), err)
	})
	if ctx.Err() != nil {
		return Check{}, ctx.Err()
	}
	var left []Claim
	var indexes []int
	for i, err := range errs {
		if err != nil {
			for _, a := range batches[i].claims {
				left, indexes = append(left, claims[a.index]), append(indexes, a.index)
			}
		}
	}
	out.By = prompt.JoinNames(by, errs)
	if left == nil {
		return out, nil
	}
	checked, err := m.fallback.Verify(ctx, question, left)
	if err != nil {
		return Check{}, err
	}
	prompt.ReportFailures(ctx, errs, m.chat.Name(), checked.By)
	for i, index := range indexes {
		out.Verdicts[index] = checked.Verdicts[i]
	}
	if slices.Contains(errs, nil) {
		out.By += " + " + checked.By
	} else {
		out.By = checked.By
	}
	return out, nil
}

// askable reports whether the claim has citations and words.
func askable(c Claim) bool { return len(c.Cited) > 0 && len(lang.Words(c.Text)) > 0 }

// batch is the content of one request.
type batch struct {
	claims   []batchClaim
	passages []corpus.Chunk // distinct passages that the claims cite; the id of a passage is its index plus one
}

// batchClaim is a claim in a request.
type batchClaim struct {
	Claim
	index int   // among all claims
	cites []int // ids of passages, in order of citation
}

// add adds a claim, and those passages that no earlier claim of the batch cites.
func (b *batch) add(c Claim, place int) {
	a := batchClaim{Claim: c, index: place}
	for _, chunk := range c.Cited[:min(len(c.Cited), maxCited)] {
		i := b.find(chunk)
		if i < 0 {
			i = len(b.passages)
			b.passages = append(b.passages, chunk)
		}
		if !slices.Contains(a.cites, i+1) {
			a.cites = append(a.cites, i+1)
		}
	}
	b.claims = append(b.claims, a)
}

func (b *batch) find(c corpus.Chunk) int {
	return slices.IndexFunc(b.passages, func(o corpus.Chunk) bool { return o.ID == c.ID && o.Text == c.Text })
}

// size returns how many bytes of passages the batch would contain with one more claim.
func (b *batch) size(c Claim) int {
	n := 0
	for _, p := range b.passages {
		n += min(len(p.Text), maxShown)
	}
	for _, p := range c.Cited[:min(len(c.Cited), maxCited)] {
		if b.find(p) < 0 {
			n += min(len(p.Text), maxShown)
		}
	}
	return n
}

// batches divides the claims with citations into batches, in order.
func (m *modelVerifier) batches(claims []Claim, budget int) []*batch {
	var out []*batch
	last := &batch{}
	for i, c := range claims {
		if !askable(c) {
			continue
		}
		if n := len(last.claims); n == m.Batch || n > 0 && last.size(c) > budget {
			out, last = append(out, last), &batch{}
		}
		last.add(c, i)
	}
	return append(out, last)
}

type reply struct {
	Verdicts []struct {
		ID       int    `json:"id"`
		Verdict  string `json:"verdict"`
		Passages []int  `json:"passages"`
	} `json:"verdicts"`
}

// judge requests the verdicts on the claims of a batch and stores them.
func (m *modelVerifier) judge(ctx context.Context, question string, b *batch, verdicts []Verdict, budget int) error {
	v := prompt.Verification{Question: question}
	about := make([]strings.Builder, len(b.passages))
	for i, a := range b.claims {
		v.Claims = append(v.Claims, prompt.Claim{ID: i + 1, Text: a.Text, Cites: a.cites})
		for _, id := range a.cites {
			about[id-1].WriteString(a.Text + "\n")
		}
	}
	shown := min(maxShown, max(minShown, budget/len(b.passages)))
	for i, p := range b.passages {
		v.Passages = append(v.Passages, prompt.PassageOf(i+1, p, about[i].String(), shown))
	}
	r, err := prompt.Ask(ctx, m.chat, m.prompts, v, func(r *reply) error { return r.check(b) })
	if err != nil {
		return err
	}
	for _, d := range r.Verdicts {
		a := b.claims[d.ID-1]
		verdicts[a.index] = a.verdict(d.Verdict, a.citedIDs(d.Passages), b)
	}
	return nil
}

// citedIDs returns the passages that the model names and the claim cites. If there are none, it returns the claim's only citation.
func (a batchClaim) citedIDs(named []int) (ids []int) {
	for _, id := range a.cites {
		if slices.Contains(named, id) {
			ids = append(ids, id)
		}
	}
	if ids == nil && len(a.cites) == 1 {
		return a.cites
	}
	return ids
}

func (a batchClaim) verdict(said string, bearing []int, b *batch) Verdict {
	v := Verdict{Claim: a.Text, Verdict: event.Unsupported}
	switch event.Verdict(said) {
	case event.Supported:
		v.Verdict, v.Score = event.Supported, 1
		if lacksNumber(a.Claim) {
			v.Verdict, v.Score = event.PartiallySupported, partialScore
		}
	case event.PartiallySupported:
		v.Verdict, v.Score = event.PartiallySupported, partialScore
	default:
		v.Contradicted = said == contradicted
		return v
	}
	for _, id := range bearing {
		v.Chunks = append(v.Chunks, b.passages[id-1].ID)
	}
	return v
}

// lacksNumber reports whether the claim contains a number that none of its passages contains.
func lacksNumber(c Claim) bool {
	claim := readClaim(c)
	return len(claim.values) > 0 && claim.checkValues(passages{}.all(c.Cited, claim.language), nil) >= unfounded
}

// contradicted is a verdict of models. Events have no such verdict.
const contradicted = "CONTRADICTED"

// check reports an error unless each claim has one verdict, and each supported claim a cited passage.
func (r *reply) check(b *batch) error {
	seen := map[int]bool{}
	for _, d := range r.Verdicts {
		switch {
		case d.ID < 1 || d.ID > len(b.claims):
			return fmt.Errorf("no claim has the id %d; the ids are 1 to %d", d.ID, len(b.claims))
		case seen[d.ID]:
			return fmt.Errorf("claim %d has two verdicts", d.ID)
		}
		seen[d.ID] = true
		switch d.Verdict {
		case string(event.Supported), string(event.PartiallySupported):
			if len(b.claims[d.ID-1].citedIDs(d.Passages)) == 0 {
				return fmt.Errorf("claim %d is %s, and none of the passages that it cites is listed with the verdict", d.ID, d.Verdict)
			}
		case string(event.Unsupported), contradicted:
		default:
			return fmt.Errorf("the verdict on claim %d is not one of the allowed values", d.ID)
		}
	}
	if len(seen) != len(b.claims) {
		return fmt.Errorf("%d of the %d claims have no verdict", len(b.claims)-len(seen), len(b.claims))
	}
	return nil
}
