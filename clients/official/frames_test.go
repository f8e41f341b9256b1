package official_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/needs"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

// frames holds the types that the frames of a stream must have, and a frame that must not have them: @ts-expect-error makes the compiler fail
// if it accepts the next line.
const frames = `import type { ErrorObject } from "openai/resources/shared";
import type { Response, ResponseStreamEvent } from "openai/resources/responses/responses";
import type { ChatCompletion, ChatCompletionChunk, ChatCompletionMessage } from "openai/resources/chat/completions";

// OpenAI's models that search the web send the annotations in a delta, and the types of the package lack them.
type Delta = ChatCompletionChunk.Choice.Delta & { annotations?: ChatCompletionMessage.Annotation[] };
type Chunk = Omit<ChatCompletionChunk, "choices"> & { choices: (Omit<ChatCompletionChunk.Choice, "delta"> & { delta: Delta })[] };
type Failed = { error: ErrorObject };

// The package adds output_text to the responses that it has received.
type Whole = Omit<Response, "output_text">;
type Event = Exclude<ResponseStreamEvent, { response: Response }> | (Omit<Extract<ResponseStreamEvent, { response: Response }>, "response"> & { response: Whole });
// @ts-expect-error
export const unknown: Event = { type: "response.output_text.unknown", sequence_number: 1 };
// @ts-expect-error
export const partial: Event = { type: "response.file_search_call.searching", sequence_number: 1, item_id: "" };
// @ts-expect-error
export const chunk: Chunk = { id: "", object: "chat.completion.chunk", created: 1, model: "", choices: [], speed: 1 };
`

// TestFramesHaveOpenAITypes compiles the golden transcripts of the protocols of OpenAI as values of the types of OpenAI's package. An unknown event,
// a missing field or one that the type does not have fails.
func TestFramesHaveOpenAITypes(t *testing.T) {
	t.Parallel()
	node := needs.Node(t, ".")
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString(frames)
	goldens, err := filepath.Glob("../../wire/openai/testdata/*.txt")
	if err != nil || len(goldens) == 0 {
		t.Fatal(err, "no goldens")
	}
	n := 0
	for _, path := range goldens {
		golden, err := os.ReadFile(path)
		require.NoError(t, err)
		stream, reply, _ := strings.Cut(string(golden), "\n{\n")
		kinds := kindsOf(filepath.Base(path))
		for line := range strings.Lines(stream) {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok || data == "[DONE]\n" {
				continue
			}
			fmt.Fprintf(&text, "export const frame%d: %s = %s", n, kinds.of(data), data)
			n++
		}
		fmt.Fprintf(&text, "export const reply%d: %s = {\n%s", n, kinds.ofReply(reply), reply)
	}
	file := filepath.Join(dir, "frames.ts")
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	linkPackages(t, dir)
	out, err := exec.CommandContext(t.Context(), node, "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--target", "ES2022", "--module", "NodeNext", "--skipLibCheck", file).CombinedOutput()
	if err != nil || n < 30 {
		t.Errorf("%d frames: %v\n%.4000s", n, err, out)
	}
}

// kinds are the TypeScript types of the frames and the reply of a protocol.
type kinds struct{ frame, reply string }

func kindsOf(golden string) kinds {
	if strings.HasPrefix(golden, "responses_") {
		return kinds{"Event", "Whole"}
	}
	return kinds{"Chunk", "ChatCompletion"}
}

func (k kinds) of(data string) string {
	if strings.HasPrefix(data, `{"error":`) {
		return "Failed"
	}
	return k.frame
}

func (k kinds) ofReply(text string) string {
	if strings.HasPrefix(text, `  "error": {`) {
		return "Failed"
	}
	return k.reply
}
