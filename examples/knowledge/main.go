// Command knowledge uploads a file to a Sluice server, asks about it, and deletes everything it has created.
//
//	go run ./examples/knowledge notes.md "What are my notes about?" "And why?"
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: knowledge FILE QUESTION...")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "knowledge:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string, questions []string) (err error) {
	base := os.Getenv("SLUICE_URL")
	if base == "" {
		base = "http://127.0.0.1:8000"
	}
	c, err := client.New(base, client.Options{})
	if err != nil {
		return err
	}
	file, err := upload(ctx, c, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.DeleteFile(ctx, file)) }()
	store, err := c.CreateStore(ctx, client.VectorStoreRequest{Name: "example", FileIDs: []string{file}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.DeleteStore(ctx, store.ID)) }()
	previous := ""
	for _, question := range questions {
		if previous, err = ask(ctx, c, store.ID, previous, question); err != nil {
			return err
		}
		id := previous
		defer func() { err = errors.Join(err, c.DeleteResponse(ctx, id)) }()
	}
	return nil
}

// upload uploads a file and waits until it is indexed.
func upload(ctx context.Context, c *client.Client, path string) (id string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	file, err := c.Upload(ctx, filepath.Base(path), f, info.Size(), client.UploadOptions{})
	if err != nil {
		return "", err
	}
	_, err = c.WaitForTask(ctx, file.TaskID, func(t client.Task) { fmt.Fprintf(os.Stderr, "%s: %.0f %%\n", t.Status, t.Progress) })
	return file.ID, err
}

// ask streams the snapshots of an answer, prints new text, and returns the id of the response for a follow-up question.
func ask(ctx context.Context, c *client.Client, store, previous, question string) (id string, err error) {
	q := client.Question(question)
	q.Tools = []knowledge.Tool{client.FileSearch(store)}
	q.PreviousResponseID = previous
	s := c.Respond(ctx, q)
	shown := 0
	for _, err := range s.Events() {
		if err != nil {
			return "", err
		}
		if text := s.Snapshot().Text; len(text) > shown {
			fmt.Print(client.Plain(text[shown:]))
			shown = len(text)
		}
	}
	fmt.Print("\n\n")
	last := s.Snapshot()
	for _, cited := range last.Citations {
		fmt.Printf("[%d] %s: %.60q\n", cited.N, cited.Title, cited.Snippet)
	}
	return last.Run, nil
}
