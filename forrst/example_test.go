package forrst_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/sluice-rag/sluice/forrst"
)

func Example() {
	type words struct {
		Text string `json:"text" required:"true"`
	}
	shout := forrst.Func("text.shout", "1.0.0", func(_ context.Context, in words) (string, error) {
		return strings.ToUpper(in.Text), nil
	})
	split := forrst.StreamFunc[words, int]("text.split", "1.0.0", func(_ context.Context, in words) iter.Seq2[forrst.Chunk, error] {
		return func(yield func(forrst.Chunk, error) bool) {
			n := 0
			for word := range strings.FieldsSeq(in.Text) {
				if n++; !yield(forrst.Data(word), nil) {
					return
				}
			}
			yield(forrst.Done(n), nil)
		}
	})
	server, err := forrst.New([]forrst.Function{shout, split}, forrst.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"text.shout", "text.split"} {
		r := httptest.NewRequest(http.MethodPost, "/forrst", strings.NewReader(`{
			"protocol": {"name": "forrst", "version": "0.1.0"}, "id": "1",
			"call": {"function": "`+name+`", "arguments": {"text": "hello world"}},
			"extensions": [{"urn": "urn:forrst:ext:stream", "options": {"accept": `+fmt.Sprint(name == "text.split")+`}}]}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		fmt.Println(strings.TrimSpace(w.Body.String()))
	}
	// Output:
	// {"protocol":{"name":"forrst","version":"0.1.0"},"id":"1","result":"HELLO WORLD","extensions":[{"urn":"urn:forrst:ext:stream","data":{"enabled":false}}]}
	// event: data
	// data: {"status":"connected"}
	//
	// event: data
	// data: "hello"
	//
	// event: data
	// data: "world"
	//
	// event: done
	// data: 2
	//
	// event: complete
	// data: {"protocol":{"name":"forrst","version":"0.1.0"},"id":"1","result":{"streamed":true},"extensions":[{"urn":"urn:forrst:ext:stream","data":{"completed":true}}]}
}
