// Package sluice answers questions over documents and streams every step: analysis, retrieval, grading, reranking, the text of
// the answer, verification and sources.
//
// [Open] opens a data folder with everything wired as in `sluice serve`, and a [Library] adds documents to it and answers
// questions. A question is a run: an append-only log of typed events, which package event defines. Programs that need other
// parts, or a smaller binary, use package engine and the packages below it.
package sluice

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/engine"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/ingest"
	"github.com/sluice-rag/sluice/internal/app"
	"github.com/sluice-rag/sluice/internal/config"
	"github.com/sluice-rag/sluice/session"
)

// Options are the settings of a [Library]. The zero value works without any server: rules judge, and answers consist of
// sentences of the documents.
type Options struct {
	// ModelURL is the address of the server whose model writes and judges, such as http://127.0.0.1:8080/v1.
	ModelURL  string
	ModelName string // the name of the model at the server; empty: its first
	// Provider is the protocol of the server: "openai", which is any OpenAI-compatible server, or "anthropic". It needs no
	// ModelURL if the provider's own server is meant. Default: "openai" if a URL or a name is given.
	Provider string
	APIKey   string // of the model's server

	EmbedURL  string // address of an OpenAI-compatible server that embeds; empty: static word vectors
	EmbedName string // the name of the embedding model; empty: the server's first

	Collection string        // default "default"
	Deadline   time.Duration // of a question; default 30 s
	Logger     *slog.Logger  // default: silent
}

// Library is an open data folder. Close it when done. It is safe for concurrent use.
type Library struct {
	app    *app.App
	ingest sync.Mutex // two ingestions of one collection must not overlap
}

// ErrInUse means that another process, such as a server, has the data folder open.
var ErrInUse = app.ErrInUse

// Open opens the data folder dir and creates it if it does not exist.
//
// Documents are parsed in this process, within the limits of package parse. For hard limits of memory and time, call
// [github.com/sluice-rag/sluice/ingest/sandbox.Main] first in the main function of the program: documents are then parsed in
// child processes, which are the same executable.
func Open(ctx context.Context, dir string, o Options) (*Library, error) {
	cfg := o.config(dir)
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("open library: %w", err)
	}
	logger := o.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	a, err := app.Open(ctx, cfg, logger)
	if err != nil {
		return nil, fmt.Errorf("open library: %w", err)
	}
	l := &Library{app: a}
	if err := a.Recover(ctx, engine.Recovery{Fail: true}); err != nil {
		_ = a.Close() // the first error is returned
		return nil, fmt.Errorf("open library: %w", err)
	}
	a.StartReembedding()
	return l, nil
}

func (o Options) config(dir string) config.Config {
	cfg := config.Default()
	cfg.Store.Data = dir
	if o.Collection != "" {
		cfg.Store.Collection = o.Collection
	}
	if o.Deadline > 0 {
		cfg.Runs.Deadline = o.Deadline
	}
	m := &cfg.Models
	for list, value := range map[*[]string]string{&m.Model: o.Provider, &m.ModelURL: o.ModelURL, &m.ModelName: o.ModelName} {
		if value != "" {
			*list = []string{value}
		}
	}
	m.EmbedURL, m.EmbedName = o.EmbedURL, o.EmbedName
	if o.Provider == config.KindAnthropic {
		cfg.Keys.Anthropic = config.Secret(o.APIKey)
	} else {
		cfg.Keys.OpenAI = config.Secret(o.APIKey)
	}
	return cfg
}

// Close cancels the runs that are being answered and closes the data folder.
func (l *Library) Close() error { return l.app.Close() }

// Engine returns the engine, for what a Library has no method for, such as reading a run again or deleting it.
func (l *Library) Engine() *engine.Engine { return l.app.Engine }

// Sessions returns the conversations of the data folder. A [Question] with a Session continues one, which is created if it does not exist.
func (l *Library) Sessions() *session.Service { return l.app.Sessions }

// Report is the result of adding documents. Documents that could not be read are in its field Failed.
type Report = ingest.Report

// AddFolder adds the documents in a folder and its subfolders. Called again, it adds what is new, updates what has changed
// and deletes what is gone. If all or most documents are gone, the folder may not be mounted: they are kept, and [Report].NotRemoved counts them.
// [Library.ReplaceFolder] deletes them.
func (l *Library) AddFolder(ctx context.Context, path string) (Report, error) {
	return l.add(ctx, path, false)
}

// ReplaceFolder is [Library.AddFolder], and always deletes what is gone.
func (l *Library) ReplaceFolder(ctx context.Context, path string) (Report, error) {
	return l.add(ctx, path, true)
}

// AddFile adds one document, or updates it.
func (l *Library) AddFile(ctx context.Context, path string) (Report, error) {
	return l.add(ctx, path, false)
}

func (l *Library) add(ctx context.Context, path string, allowRemoval bool) (Report, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Report{}, fmt.Errorf("add %s: %w", path, err)
	}
	l.ingest.Lock()
	defer l.ingest.Unlock()
	return l.app.Ingest(ctx, []string{absolute}, allowRemoval, nil)
}

// AddText adds a document whose text is in memory, or replaces the one of the same name. The extension of the name selects
// the format, such as .md; without one, the text is plain.
func (l *Library) AddText(ctx context.Context, name, text string) (Report, error) {
	s := ingest.Source{URI: name, Name: name, Data: []byte(text)}
	if filepath.Ext(name) == "" {
		s.Name += ".txt"
	}
	l.ingest.Lock()
	defer l.ingest.Unlock()
	return l.app.IngestDocuments(ctx, []ingest.Source{s})
}

// Ask answers a question and yields the events of its run as they happen. The last event is [RunFinished], or [RunFailed]
// together with the reason as an error. To leave the loop or to end ctx cancels the run. Each range over the result asks anew.
func (l *Library) Ask(ctx context.Context, query string) iter.Seq2[Event, error] {
	return l.AskQuestion(ctx, Question{Query: query})
}

// AskQuestion is Ask with the other fields of a question.
func (l *Library) AskQuestion(ctx context.Context, q Question) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range l.events(ctx, q) {
			if failed, ok := e.Body.(event.RunFailed); ok {
				err = fault.New(failed.Code, "%s", failed.Message)
			}
			if !yield(e.Body, err) {
				return
			}
		}
	}
}

// Answer is a complete answer.
type Answer struct {
	Text       string
	Sources    []Source // that the answer cites come first, in the order of their first citation
	Confidence float64  // estimated probability that the answer is right, 0..1; 0 for an abstention
	State      State    // all that the run's events add up to
}

// Answer answers a question. The error is the run's failure; the answer then holds what there was before it.
func (l *Library) Answer(ctx context.Context, query string) (Answer, error) {
	return l.AnswerQuestion(ctx, Question{Query: query})
}

// AnswerQuestion is Answer with the other fields of a question.
func (l *Library) AnswerQuestion(ctx context.Context, q Question) (Answer, error) {
	var a Answer
	var err error
	for e, readErr := range l.events(ctx, q) {
		if err = readErr; err == nil {
			a.State.Apply(e)
		}
	}
	if f := a.State.Failure; f != nil {
		err = fault.New(f.Code, "%s", f.Message)
	}
	a.Text, a.Sources, a.Confidence = string(a.State.Text), a.State.Sources, a.State.Confidence
	return a, err
}

// events asks a question and yields the events of its run. It cancels the run when its reader leaves before the last one.
func (l *Library) events(ctx context.Context, q Question) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		ask := l.app.Engine.AskAttached
		if q.Session != "" {
			ask = func(ctx context.Context, q event.Question, c engine.Caller) (event.RunID, func(), error) {
				c.Account = auth.Owner // as requests to a server without keys
				return l.app.Sessions.Ask(ctx, q, session.Turn{}, c)
			}
		}
		id, detach, err := ask(ctx, q, engine.Caller{})
		if err != nil {
			yield(event.Event{}, err)
			return
		}
		defer detach()
		// It has no effect on a run that has ended.
		defer func() { _ = l.app.Engine.Cancel(context.WithoutCancel(ctx), id, "") }()
		for batch, err := range l.app.Engine.Events(ctx, id, 0) {
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			for _, e := range batch {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}
