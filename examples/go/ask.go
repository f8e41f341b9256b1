// Command ask asks a Sluice server and prints the answer as it is written. It reconnects after a lost connection.
//
//	go run ./examples/go/ask.go "What happens to a slow reader?"
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/sluice-rag/sluice/client"
	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/wire/forge"
)

func main() {
	if err := ask(strings.Join(os.Args[1:], " ")); err != nil {
		fmt.Fprintln(os.Stderr, "ask:", err)
		os.Exit(1)
	}
}

func ask(question string) error {
	base := os.Getenv("SLUICE_URL")
	if base == "" {
		base = "http://127.0.0.1:8000"
	}
	c, err := client.New(base, client.Options{})
	if err != nil {
		return err
	}
	for ev, err := range c.Ask(context.Background(), forge.Request{Query: question, Mode: event.Direct}).Events() {
		if err != nil {
			return err
		}
		switch ev.Name {
		case "token":
			var t forge.Token
			if err := json.Unmarshal(ev.Data, &t); err != nil {
				return err
			}
			fmt.Print(t.Content)
		case "done", "error":
			fmt.Printf("\n%s\n", ev.Data)
		}
	}
	return nil
}
