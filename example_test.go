package sluice_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/sluice-rag/sluice"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sluice")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	lib, err := sluice.Open(ctx, dir, sluice.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = lib.Close() }()
	if _, err := lib.AddText(ctx, "sluices.md", "# Sluice boxes\n\nGold is heavier than gravel, so it settles behind the riffles. "+
		"The water carries the gravel away."); err != nil {
		log.Fatal(err)
	}
	for e, err := range lib.Ask(ctx, "Why does gold settle behind the riffles?") {
		if err != nil {
			log.Fatal(err)
		}
		switch e := e.(type) {
		case sluice.Token:
			fmt.Print(e.Text)
		case sluice.Cited:
			fmt.Printf(" [%d]\n", e.N)
		case sluice.Verified:
			fmt.Println("claim support:", e.Confidence)
		}
	}
	// Output:
	// Gold is heavier than gravel, so it settles behind the riffles. [1]
	// claim support: 1
}
