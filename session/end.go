package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/eventlog"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/lang"
)

// maxSnippet is the maximum size of the text of a source in a stored answer if its cited sentence is unknown, in bytes.
const maxSnippet = 400

// Interrupted is the failure of a turn that was ended because its server seemed to have stopped and its run had no end. If that server was only cut off,
// the run goes on, and its end replaces this one.
var Interrupted = event.RunFailed{Code: fault.Internal, Message: "the server stopped before the answer was finished"}

// Ended copies the answer of a run to its session. It is for [engine.Options.Ended]. If the copy fails, it is repeated in the background, and by the
// next question of the session.
func (s *Service) Ended(state event.State) {
	if state.Session == "" {
		return
	}
	if err := s.finish(context.Background(), state.Run); err != nil {
		s.o.Logger.Error("copy answer to session; it will be repeated", "run", state.Run, "error", err)
		s.later(func(ctx context.Context) error { return s.finish(ctx, state.Run) })
	}
}

// finish ends the turn of a run that has ended.
func (s *Service) finish(ctx context.Context, run event.RunID) error {
	found, m, err := s.store.ByRun(ctx, run)
	if errors.Is(err, ErrNoMessage) || err == nil && !m.Status.Open() && !m.Interrupted() {
		return nil
	}
	if err != nil {
		return err
	}
	state, err := s.state(ctx, run)
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	e := endOf(&state)
	if e.Status.Open() { // the terminal event could not be written
		failure := Interrupted
		e.Status, e.Failure = Failed, &failure
	}
	if sum := state.Summarized; sum != nil && sum.Turns > 0 {
		h, err := s.history(ctx, found.Key, m.Parent)
		if err != nil {
			return err
		}
		if slices.Equal(h.messages, state.History) && sum.Turns <= len(h.ids) { // otherwise the request had its own history
			e.Summary, e.SummaryOf = sum.Summary, h.ids[sum.Turns-1]
		}
	}
	err = s.store.End(ctx, e)
	if errors.Is(err, ErrNoMessage) { // another call has ended it, or it was deleted
		return nil
	}
	if err != nil {
		return err
	}
	s.notify(found.Key)
	if !state.Writer.OwnKey { // otherwise no other model may see the conversation
		s.makeTitle(found, m, state.Query, e.Text)
	}
	return nil
}

// end ends a turn unless it has ended or was deleted.
func (s *Service) end(ctx context.Context, e End) error {
	if err := s.store.End(ctx, e); !errors.Is(err, ErrNoMessage) {
		return err
	}
	return nil
}

// endOf returns the end of the turn of a run: what the session stores of the run.
func endOf(state *event.State) End {
	e := End{Run: state.Run, Text: string(state.Text), Answer: Answer{Run: state.Run, Protocol: state.Protocol, Failure: state.Failure, Confidence: state.Confidence,
		Abstained: state.Abstained(), Tokens: state.Cost()}}
	switch state.Status {
	case event.Finished:
		e.Status = Completed
	case event.Cancelled:
		e.Status = Cancelled
	case event.Failed:
		e.Status = Failed
	default:
		e.Status = Running
	}
	if !e.Status.Open() {
		e.EndedAt = state.UpdatedAt
	}
	if state.Analysis != nil {
		e.Standalone = state.Analysis.Standalone
	}
	for _, c := range state.Citations {
		if src, ok := sourceOf(state, c); ok {
			e.Citations = append(e.Citations, Citation{At: c.At, N: c.N, Source: src})
		}
	}
	return e
}

// sourceOf returns the source of a citation. Its text is the cited sentence, or the beginning of the passage.
func sourceOf(state *event.State, c event.Citation) (event.Source, bool) {
	var src event.Source
	for _, known := range [][]event.Source{state.Sources, state.Quoted} {
		if i := slices.IndexFunc(known, func(src event.Source) bool { return src.N == c.N }); i >= 0 {
			src = known[i]
			break
		}
	}
	if c.Source != nil {
		weight := src.Weight
		src = *c.Source
		src.Weight = weight
	}
	if src.Chunk == "" {
		return src, false
	}
	if quote := src.CitedText(); quote != "" {
		src.Text = quote
	} else {
		src.Text = lang.Truncate(src.Text, maxSnippet)
	}
	src.Quote, src.QuoteEnd, src.Path = 0, 0, nil
	return src, true
}

// state returns the state of a run so far. It is the zero state if there is no such run.
func (s *Service) state(ctx context.Context, run event.RunID) (event.State, error) {
	var state event.State
	for {
		batch, err := s.engine.Store().Load(ctx, run, state.Seq)
		if errors.Is(err, eventlog.ErrEnd) || errors.Is(err, eventlog.ErrNotFound) {
			return state, nil
		}
		if err != nil || len(batch) == 0 {
			return state, err
		}
		for _, e := range batch {
			state.Apply(e)
		}
	}
}

// resolve ends the turn of a [BusyError] if its run has ended or its server has stopped. It reports whether it ended the turn.
func (s *Service) resolve(ctx context.Context, busy *BusyError) (bool, error) {
	stopped := busy.Expired && !s.answering(busy.Run)
	state, err := s.state(ctx, busy.Run)
	if err != nil && (!stopped || ctx.Err() != nil) {
		return false, err
	}
	if err != nil { // a damaged log must not block its session
		s.o.Logger.Error("read answer; the session shows it as failed", "run", busy.Run, "error", err)
		state = event.State{}
	}
	if ended := state.Seq > 0 && state.Status != event.Running; !ended && !stopped {
		return false, nil
	}
	if state.Seq == 0 {
		return true, s.end(ctx, interrupted(busy.Run, s.o.Now()))
	}
	return true, s.finish(ctx, busy.Run)
}

// answering reports whether this server answers the run or is about to.
func (s *Service) answering(run event.RunID) bool {
	s.mu.Lock()
	starting := s.starting[run]
	s.mu.Unlock()
	return starting || s.engine.Answering(run)
}

// interrupted is the end of a turn whose run was never started.
func interrupted(run event.RunID, at time.Time) End {
	failure := Interrupted
	return End{Run: run, Answer: Answer{Run: run, Status: Failed, EndedAt: at, Failure: &failure}}
}

// Recover ends the open turns of an earlier process of this server, except those whose runs have been resumed, and completes deletions. Call
// it after [engine.Engine.Recover] and before questions are asked. If other servers share the store, the turns are those of the servers that are gone,
// except those whose runs another server continues; nil: there are no other servers.
func (s *Service) Recover(ctx context.Context, gone func(server string) bool) error {
	open, err := s.store.Open(ctx)
	if err != nil {
		return fmt.Errorf("recover sessions: %w", err)
	}
	for _, t := range open {
		if gone == nil && t.Server != s.o.Server || gone != nil && !gone(t.Server) || s.answering(t.Run) {
			continue
		}
		if gone != nil {
			if state, err := s.state(ctx, t.Run); err == nil && state.Seq > 0 && state.Status == event.Running {
				continue
			}
		}
		if _, err := s.resolve(ctx, &BusyError{Run: t.Run, Expired: true}); err != nil {
			return fmt.Errorf("recover sessions: %w", err)
		}
	}
	hidden, err := s.store.Hidden(ctx)
	if err != nil {
		return fmt.Errorf("recover sessions: %w", err)
	}
	for _, found := range hidden {
		_ = s.eraseNow(ctx, found) // it is repeated
	}
	return nil
}

// Deleted erases the answer of a deleted run from its session. It is for [engine.Options.Deleted].
func (s *Service) Deleted(run event.RunID) {
	s.mu.Lock()
	whole := s.deleting[run]
	s.mu.Unlock()
	if whole {
		return
	}
	if err := s.store.EraseRun(context.Background(), run); err != nil {
		s.o.Logger.Error("erase answer of deleted run; it is still in its session", "run", run, "error", err)
		s.later(func(ctx context.Context) error { return s.store.EraseRun(ctx, run) })
	}
}

// Delete deletes a session with its runs, and so with their stored responses and cached answers, or without its
// runs. If it fails after the session was hidden, no method finds the session any more. The deletion is repeated in the background, and after a restart.
func (s *Service) Delete(ctx context.Context, account, id string, keepRuns bool) error {
	found, err := s.Session(ctx, account, id)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := s.store.Hide(ctx, found.Key, keepRuns); err != nil {
		return public(err)
	}
	found.KeepRuns = keepRuns
	return s.eraseNow(ctx, found)
}

// eraseNow is erase. If it fails, it is repeated in the background.
func (s *Service) eraseNow(ctx context.Context, found Session) error {
	err := s.erase(ctx, found)
	if err != nil {
		s.o.Logger.Error("delete session; it is hidden, and the deletion will be repeated", "error", err)
		s.later(func(ctx context.Context) error { return s.erase(ctx, found) })
	}
	return err
}

// erase deletes a hidden session and, unless they are kept, its runs.
func (s *Service) erase(ctx context.Context, found Session) error {
	after := event.RunID("")
	for !found.KeepRuns {
		runs, err := s.store.Runs(ctx, found.Key, after, page)
		if err != nil {
			return err
		}
		for _, run := range runs {
			if err := s.deleteRun(ctx, run); err != nil {
				return err
			}
			after = run
		}
		if len(runs) < page {
			break
		}
	}
	return s.store.Erase(ctx, found.Key)
}

func (s *Service) deleteRun(ctx context.Context, run event.RunID) error {
	s.mu.Lock()
	s.deleting[run] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.deleting, run)
	}()
	if err := s.engine.Delete(ctx, run); err != nil && !errors.Is(err, eventlog.ErrNotFound) {
		return fmt.Errorf("delete session: %w", err)
	}
	return nil
}
