package client_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http/httptest"
	"strings"

	"github.com/sluice-rag/sluice/forrst"
	"github.com/sluice-rag/sluice/forrst/client"
)

func Example() {
	type words struct {
		Text string `json:"text" required:"true" minLength:"1"`
	}
	server, err := forrst.New([]forrst.Function{
		forrst.Func("text.shout", "1.0.0", func(_ context.Context, in words) (string, error) {
			return strings.ToUpper(in.Text), nil
		}),
		forrst.StreamFunc[words, int]("text.split", "1.0.0", func(_ context.Context, in words) iter.Seq2[forrst.Chunk, error] {
			return func(yield func(forrst.Chunk, error) bool) {
				n := 0
				for word := range strings.FieldsSeq(in.Text) {
					if n++; !yield(forrst.Data(word), nil) {
						return
					}
				}
				yield(forrst.Done(n), nil)
			}
		}),
	}, forrst.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ts := httptest.NewServer(server)
	defer ts.Close()

	ctx := context.Background()
	c := client.New(client.HTTP(ts.URL, nil), client.Options{})
	defer c.Close()
	loud, err := client.Call[string](ctx, c, "text.shout", words{"hello"})
	fmt.Println(loud, err)

	for event, err := range c.Stream(ctx, "text.split", words{"three short words"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(event.Kind, string(event.Data))
	}

	_, err = client.Call[string](ctx, c, "text.shout", words{})
	if e, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println(e.Code, e.Pointer)
	}
	// Output:
	// HELLO <nil>
	// data "three"
	// data "short"
	// data "words"
	// done 3
	// SCHEMA_VALIDATION_FAILED /call/arguments/text
}
