// Command forrst is an RPC server with two functions, one of them streamable:
//
//	go run ./examples/forrst
//
// It prints commands that call them. With arguments, it is a client that calls both:
//
//	go run ./examples/forrst call three short words
//
// The environment variable ADDR selects another address than 127.0.0.1:8001.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/forrst/client"
)

type text struct {
	Text string `json:"text" required:"true" maxLength:"10000" description:"A text of words."`
}

type count struct {
	Words int `json:"words"`
}

// countWords is a function with one reply.
func countWords(_ context.Context, in text) (count, error) {
	n := len(strings.Fields(in.Text))
	if n == 0 {
		return count{}, forrst.Errorf("TEXT_EMPTY", "the text has no words").At("/call/arguments/text")
	}
	return count{n}, nil
}

// repeat is a streamable function: it sends one word every 200 ms.
func repeat(ctx context.Context, in text) iter.Seq2[forrst.Chunk, error] {
	return func(yield func(forrst.Chunk, error) bool) {
		words := strings.Fields(in.Text)
		for i, word := range words {
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done(): // the client is gone, or the deadline has passed
				yield(forrst.Chunk{}, ctx.Err())
				return
			}
			if !yield(forrst.Data(map[string]string{"word": word}), nil) ||
				!yield(forrst.Progress(int64(i+1), int64(len(words)), ""), nil) {
				return
			}
		}
		yield(forrst.Done(count{len(words)}), nil)
	}
}

func run(ctx context.Context, addr string) error {
	rpc, err := forrst.New([]forrst.Function{
		forrst.Func("text.count", "1.0.0", countWords),
		forrst.StreamFunc[text, count]("text.repeat", "1.0.0", repeat),
	}, forrst.Options{Service: "example"})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/forrst", rpc)
	server := &http.Server{Addr: addr, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		// The calls in progress get five seconds.
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		stopped <- errors.Join(server.Shutdown(limit), rpc.Wait(limit))
	}()
	const request = `{"protocol":{"name":"forrst","version":"0.1.0"},"id":"1","call":{"function":"%s","arguments":{"text":"three short words"}},"extensions":[%s]}`
	for _, args := range [][2]string{{"text.count", ""}, {"text.repeat", `{"urn":"urn:forrst:ext:stream","options":{"accept":true}}`}} {
		fmt.Printf("curl -N http://%s/forrst --json '%s'\n", addr, fmt.Sprintf(request, args[0], args[1]))
	}
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

// call calls both functions of a server.
func call(ctx context.Context, addr, words string) error {
	c := client.New(client.HTTP("http://"+addr+"/forrst", nil), client.Options{})
	defer c.Close()
	n, err := client.Call[count](ctx, c, "text.count", text{words})
	if err != nil {
		return err
	}
	fmt.Println(n.Words, "words")
	for event, err := range c.Stream(ctx, "text.repeat", text{words}) {
		if err != nil {
			return err
		}
		fmt.Println(event.Kind, string(event.Data))
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	addr := cmp.Or(os.Getenv("ADDR"), "127.0.0.1:8001")
	var err error
	if len(os.Args) > 1 && os.Args[1] == "call" {
		err = call(ctx, addr, strings.Join(os.Args[2:], " "))
	} else {
		err = run(ctx, addr)
	}
	if err != nil {
		log.Fatal(err)
	}
}
