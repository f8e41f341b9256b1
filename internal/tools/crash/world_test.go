package crash_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/turns"
)

// storeID is the vector store of all files.
const storeID = "crash"

// The states of a file. After a request that a crash interrupted, both the state before and the state after it are correct.
type fileState int

const (
	uploading fileState = iota // the upload is not acknowledged
	uploaded                   // acknowledged
	inStore                    // it was added to the vector store and indexed
	deleting                   // the deletion is not acknowledged
	deleted                    // acknowledged
)

// file is the known state of a file.
type file struct {
	id    string
	word  string // is in this file only
	text  string
	state fileState
}

// question is a run as a reader saw it.
type question struct {
	run     string
	in      string // the protocol
	session string // empty: none
	text    string
	frames  map[string]string // by cursor: each event that is not a token
	status  client.Status
	state   fileState // uploaded, deleting or deleted
}

// world holds what the server has acknowledged.
type world struct {
	mu     sync.Mutex
	rng    *rand.Rand
	files  map[string]*file
	asked  []*question
	found  *row
	failed []string // explanations of the row's last three columns
	steps  chan struct{}
}

func newWorld(found *row) *world {
	return &world{rng: rand.New(rand.NewPCG(*seed, 1)), files: map[string]*file{}, found: found, steps: make(chan struct{}, 1)}
}

// step records that something was acknowledged or read.
func (w *world) step() {
	select {
	case w.steps <- struct{}{}:
	default:
	}
}

func (w *world) tried() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found.tried++
}

func (w *world) fail(column *int, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*column++
	w.failed = append(w.failed, fmt.Sprintf(format, args...))
}

// lost, repeated and unexplained count a failure with its explanation.
func (w *world) lost(format string, args ...any) { w.fail(&w.found.lost, "lost: "+format, args...) }
func (w *world) repeated(format string, args ...any) {
	w.fail(&w.found.repeated, "repeated: "+format, args...)
}
func (w *world) unexplained(format string, args ...any) {
	w.fail(&w.found.unexplained, "unexplained: "+format, args...)
}

// report fails the test for everything that went wrong.
func (w *world) report(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.failed {
		t.Error(f)
	}
	w.failed = nil
}

func (w *world) intn(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n)
}

// name returns a word that no other file contains.
func (w *world) name() string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	var b strings.Builder
	for range 5 {
		b.WriteByte(consonants[w.intn(len(consonants))])
		b.WriteByte(vowels[w.intn(len(vowels))])
	}
	return b.String()
}

// pick returns a random file in a state, and moves it to another state.
func (w *world) pick(from, to fileState) *file {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*file
	for _, id := range slices.Sorted(maps.Keys(w.files)) {
		if f := w.files[id]; f.state == from {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		return nil
	}
	f := all[w.rng.IntN(len(all))]
	f.state = to
	return f
}

func (w *world) set(f *file, s fileState) {
	w.mu.Lock()
	f.state = s
	w.mu.Unlock()
	w.step()
}

// upload uploads a file and adds it to the vector store.
func (w *world) upload(ctx context.Context, c *client.Client) {
	word := w.name()
	title := strings.ToUpper(word[:1]) + word[1:]
	f := &file{id: "f-" + word, word: word, text: fmt.Sprintf("# %s\n\nThe harbour master of %s is Ada Brook. The ferry to %s leaves at nine.\n", title, title, title)}
	w.mu.Lock()
	w.files[f.id] = f
	w.mu.Unlock()
	w.tried()
	if _, err := c.Upload(ctx, word+".md", strings.NewReader(f.text), int64(len(f.text)), client.UploadOptions{ID: f.id}); err != nil {
		w.interrupted(ctx, "upload", err)
		return
	}
	w.set(f, uploaded)
	if _, err := c.WaitForTask(ctx, "upload-"+f.id, nil); err != nil {
		w.interrupted(ctx, "wait for the upload", err)
		return
	}
	if _, err := c.AddFiles(ctx, storeID, f.id); err != nil {
		w.interrupted(ctx, "add to store", err)
		return
	}
	w.set(f, inStore)
}

// remove deletes a file.
func (w *world) remove(ctx context.Context, c *client.Client) {
	f := w.pick(inStore, deleting)
	if f == nil {
		return
	}
	w.tried()
	err := c.DeleteFile(ctx, f.id)
	if fault.CodeOf(err) == fault.NotFound { // the client has sent it again after the first one was done
		err = nil
	}
	if err != nil {
		w.interrupted(ctx, "delete", err)
		return
	}
	w.set(f, deleted)
}

// ask asks a question in one of the protocols and reads the stream to its end, across restarts.
func (w *world) ask(ctx context.Context, c *client.Client, protocol string) {
	text := "Who is the harbour master of " + w.name() + "?"
	session := sessionOf(protocol)
	stream := c.Ask(ctx, forge.Request{Query: text, Mode: "direct", NoCache: true, SessionID: session})
	if protocol == "knowledge" {
		q := client.Question(text)
		q.NoCache, q.Conversation = true, session
		stream = c.Respond(ctx, q)
	}
	w.tried()
	q := &question{in: protocol, session: session, frames: map[string]string{}, state: uploaded}
	for e, err := range stream.Events() {
		if err != nil {
			if stream.Run() != "" && ctx.Err() == nil {
				w.lost("run %s in %s ended for its reader without a terminal event: %v", stream.Run(), protocol, err)
			}
			return // it was not acknowledged
		}
		w.checkEvent(q, e)
		w.step()
	}
	s := stream.Snapshot()
	q.run, q.text, q.status = stream.Run(), s.Text, s.Status
	if !s.Status.Final() {
		w.lost("run %s in %s ended for its reader as %s", q.run, protocol, s.Status)
	}
	w.mu.Lock()
	w.asked = append(w.asked, q)
	w.mu.Unlock()
}

// checkEvent records an event. It reports a cursor that was seen before with another content.
func (w *world) checkEvent(q *question, e client.Event) {
	if e.Protocol == "knowledge" || e.Name == "token" || e.ID == "" {
		return // snapshots and merged tokens are compared by the text that they add up to
	}
	if was, ok := q.frames[e.ID]; ok && was != string(e.Data) {
		w.repeated("run %s has two events %s: %s and %s", e.Run, e.ID, was, e.Data)
	}
	q.frames[e.ID] = string(e.Data)
}

// deleteRun deletes a run.
func (w *world) deleteRun(ctx context.Context, c *client.Client) {
	w.mu.Lock()
	i := slices.IndexFunc(w.asked, func(q *question) bool { return q.state == uploaded && q.in != turns.Name })
	if i < 0 {
		w.mu.Unlock()
		return
	}
	q := w.asked[i]
	q.state = deleting
	w.found.tried++
	w.mu.Unlock()
	err := c.DeleteResponse(ctx, q.run)
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		w.interrupted(ctx, "delete run", err)
		return
	}
	w.mu.Lock()
	q.state = deleted
	w.mu.Unlock()
	w.step()
}

// interrupted checks the error of a request that a crash may have interrupted. It reports unexpected error codes of the server.
func (w *world) interrupted(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	if f := fault.CodeOf(err); f != "" && f != fault.Unavailable && f != fault.Overloaded {
		w.unexplained("%s: %v", what, err)
	}
}

// verify compares the server with what it acknowledged.
func (w *world) verify(ctx context.Context, c *client.Client) {
	w.mu.Lock()
	files := slices.SortedFunc(maps.Values(w.files), func(a, b *file) int { return strings.Compare(a.id, b.id) })
	asked := slices.Clone(w.asked)
	w.mu.Unlock()
	for _, f := range files {
		w.verifyFile(ctx, c, f)
	}
	for _, q := range asked {
		if q.in == turns.Name {
			w.readTurn(ctx, c, q)
		} else {
			w.verifyRun(ctx, c, q)
		}
		w.verifyAnswer(ctx, c, q)
	}
}

func (w *world) verifyFile(ctx context.Context, c *client.Client, f *file) {
	doc, err := c.Content(ctx, f.id)
	missing := fault.CodeOf(err) == fault.NotFound
	if err != nil && !missing {
		w.unexplained("content of %s: %v", f.id, err)
		return
	}
	switch f.state {
	case uploaded, inStore:
		if missing {
			w.lost("the file %s was uploaded and is not there", f.id)
			return
		}
	case deleted:
		if !missing {
			w.repeated("the file %s was deleted and is there", f.id)
		}
	case uploading, deleting: // either
		if missing {
			f.state = deleted
		}
	}
	if f.state == inStore || f.state == uploaded || f.state == uploading && !missing {
		w.await(ctx, c, f)
	}
	found := w.searched(ctx, c, f)
	switch {
	case f.state == inStore && !found:
		w.lost("the file %s was added to the vector store and no search finds it", f.id)
	case f.state == deleted && found:
		w.repeated("the file %s was deleted and a search finds it", f.id)
	case f.state == inStore && !holds(doc, f.word):
		w.lost("the file %s has another text", f.id)
	}
	if f.state == deleting { // it is there, so the deletion did not take place
		f.state = inStore
	}
}

// await waits until an uploaded file is indexed.
func (w *world) await(ctx context.Context, c *client.Client, f *file) {
	if _, err := c.WaitForTask(ctx, "upload-"+f.id, nil); err != nil && ctx.Err() == nil {
		w.unexplained("the task of %s: %v", f.id, err)
	}
	if f.state == uploading {
		f.state = uploaded
	}
}

func (w *world) searched(ctx context.Context, c *client.Client, f *file) bool {
	page, err := c.SearchStore(ctx, storeID, client.SearchRequest{Query: f.word, TopK: 3})
	if err != nil {
		w.unexplained("search for %s: %v", f.word, err)
		return f.state == inStore
	}
	return slices.ContainsFunc(page.Data, func(r client.SearchRow) bool {
		return r.FileID == f.id && slices.ContainsFunc(r.Content, func(x client.SearchText) bool { return strings.Contains(strings.ToLower(x.Text), f.word) })
	})
}

func (w *world) verifyRun(ctx context.Context, c *client.Client, q *question) {
	stream := c.StreamIn(ctx, q.in, q.run, "")
	for e, err := range stream.Events() {
		if err != nil {
			if gone := fault.CodeOf(err) == fault.NotFound; gone && q.state != uploaded {
				q.state = deleted
			} else {
				w.lost("run %s was answered and cannot be read: %v", q.run, err)
			}
			return
		}
		if q.state != deleted {
			w.checkEvent(q, e)
		}
	}
	s := stream.Snapshot()
	switch {
	case q.state == deleted:
		w.repeated("run %s was deleted and can be read", q.run)
	case s.Text != q.text || s.Status != q.status:
		w.repeated("run %s was %s with %q for its reader and is %s with %q", q.run, q.status, q.text, s.Status, s.Text)
	default:
		q.state = uploaded
	}
}

// holds reports whether a segment of the document contains the word.
func holds(d client.Document, word string) bool {
	return d.Content != nil && slices.ContainsFunc(d.Content.Segments, func(s client.Segment) bool {
		return strings.Contains(strings.ToLower(s.Content), word)
	})
}
