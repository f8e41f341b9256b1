package client_test

import (
	"context"
	"fmt"
	"os"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/client/display"
	"github.com/sluice-rag/sluice/wire/forge"
	"github.com/sluice-rag/sluice/wire/knowledge"
)

// A question and its complete answer.
func Example() {
	c, err := client.New("http://127.0.0.1:8000", client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := c.Ask(context.Background(), forge.Request{Query: "Why does gold settle?"}).Wait()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Plain())
	for _, source := range s.Citations {
		fmt.Println(source.N, source.Title, source.PageList())
	}
}

// The answer while it is written: the state after each event.
func ExampleStream_Events() {
	c, err := client.New("http://127.0.0.1:8000", client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := c.Respond(context.Background(), client.Question("Why does gold settle?"))
	for ev, err := range s.Events() {
		if err != nil {
			fmt.Println(err) // the stream could not be resumed
			return
		}
		now := s.Snapshot()
		fmt.Println(ev.Name, now.Status, len(now.Steps), len(now.Text))
	}
	if f := s.Snapshot().Failure; f != nil {
		fmt.Println(f.Code, f.Message)
	}
}

// A file is uploaded, put into a vector store and searched.
func ExampleClient_Upload() {
	ctx := context.Background()
	c, err := client.New("http://127.0.0.1:8000", client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err := os.Open("handbook.pdf")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer body.Close()
	info, err := body.Stat()
	if err != nil {
		fmt.Println(err)
		return
	}
	file, err := c.Upload(ctx, "handbook.pdf", body, info.Size(), client.UploadOptions{SkipExists: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := c.WaitForTask(ctx, file.TaskID, func(t client.Task) { fmt.Println(t.Progress) }); err != nil {
		fmt.Println(err)
		return
	}
	store, err := c.CreateStore(ctx, client.VectorStoreRequest{Name: "harbour", FileIDs: []string{file.ID}})
	if err != nil {
		fmt.Println(err)
		return
	}
	q := client.Question("When was the north lock opened?")
	q.Tools = []knowledge.Tool{client.FileSearch(store.ID)}
	s, err := c.Respond(ctx, q).Wait()
	fmt.Println(s.Plain(), err)
}

// A run on a terminal, as the command shows it.
func Example_display() {
	c, err := client.New("http://127.0.0.1:8000", client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var d display.Display = display.NewPlain(os.Stdout, os.Stderr, display.PlainOptions{})
	if display.Capable(os.Stdout, os.Environ()) {
		d = display.NewRich(os.Stdout, display.RichOptions{In: os.Stdin, Interrupt: stop})
	}
	if _, err := display.Run(c.Ask(ctx, forge.Request{Query: "Why does gold settle?"}), d); err != nil {
		fmt.Println(err)
	}
}
