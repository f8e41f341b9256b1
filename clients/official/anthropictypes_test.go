package official_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// anthropicTypes has the types of the frames, and frames that must not have them: @ts-expect-error makes the compiler fail if it accepts the next line.
const anthropicTypes = `import type { ErrorResponse, Message, ModelInfo, RawMessageStreamEvent } from "@anthropic-ai/sdk/resources";
import type { ModelInfosPage } from "@anthropic-ai/sdk/resources/models";
type ModelPage = Pick<ModelInfosPage, "data" | "has_more" | "first_id" | "last_id">;
type Ping = { type: "ping" };
// @ts-expect-error
export const unknown: RawMessageStreamEvent = { type: "content_block_unknown", index: 0 };
// @ts-expect-error
export const more: RawMessageStreamEvent = { type: "content_block_stop", index: 0, speed: 1 };
// @ts-expect-error
export const less: RawMessageStreamEvent = { type: "content_block_stop" };
// @ts-expect-error
export const block: RawMessageStreamEvent = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
// @ts-expect-error
export const failed: ErrorResponse = { type: "error", error: { type: "strange_error", message: "" }, request_id: null };
`

// checkAnthropicTypes compiles the golden transcripts, and replies of the server at the URL, as values of the types of Anthropic's package. An unknown event, a missing field
// or one that the type does not have fails.
func checkAnthropicTypes(t *testing.T, node, url string) {
	t.Helper()
	var text strings.Builder
	text.WriteString(anthropicTypes)
	n := 0
	add := func(kind, value string) {
		if strings.HasPrefix(strings.Join(strings.Fields(value), ""), `{"type":"error"`) {
			kind = "ErrorResponse"
		}
		fmt.Fprintf(&text, "export const frame%d: %s = %s;\n", n, kind, strings.TrimSpace(value))
		n++
	}
	stream := func(s string) {
		for line := range strings.Lines(s) {
			if data, ok := strings.CutPrefix(line, "data: "); ok && data == "{\"type\":\"ping\"}\n" {
				add("Ping", data)
			} else if ok {
				add("RawMessageStreamEvent", data)
			}
		}
	}
	goldens, err := filepath.Glob("../../wire/anthropic/testdata/*.txt")
	if err != nil || len(goldens) == 0 {
		t.Fatal(err, "no goldens")
	}
	for _, path := range goldens {
		golden, err := os.ReadFile(path)
		require.NoError(t, err)
		frames, reply, _ := strings.Cut(string(golden), "\n{\n")
		stream(frames)
		add("Message", "{\n"+reply)
	}
	reply := func(method, path, body string) string {
		r, err := http.NewRequestWithContext(t.Context(), method, url+"/anthropic/v1"+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return string(text)
	}
	const question = `"messages":[{"role":"user","content":"What does a ship pay, and when was the north lock opened?"}]}`
	before := n
	stream(reply("POST", "/messages", `{"stream":true,"thinking":{"type":"adaptive"},`+question))
	if n-before < 8 {
		t.Errorf("a stream of %d frames", n-before)
	}
	add("Message", reply("POST", "/messages", `{`+question))
	add("ErrorResponse", reply("POST", "/messages", `{}`))
	add("ErrorResponse", reply("GET", "/nothing", ""))
	add("ModelPage", reply("GET", "/models", ""))
	add("ModelInfo", reply("GET", "/models/sluice", ""))
	dir := t.TempDir()
	linkPackages(t, dir)
	file := filepath.Join(dir, "frames.ts")
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	out, err := exec.CommandContext(t.Context(), node, "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--target", "ES2022", "--module", "NodeNext", "--skipLibCheck", file).CombinedOutput()
	if err != nil {
		t.Errorf("%d values: %v\n%.4000s", n, err, out)
	}
}
