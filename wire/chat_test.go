package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/event"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/wire"
)

// TestLongConversation: of a long history, the newest messages are kept; instructions that are too long are refused.
func TestLongConversation(t *testing.T) {
	t.Parallel()
	var all []wire.ChatMessage
	for i := range 500 {
		all = append(all, wire.ChatMessage{Role: event.RoleUser, Text: fmt.Sprint("question ", i)}, wire.ChatMessage{Role: event.RoleAssistant, Text: fmt.Sprint("answer ", i)})
	}
	all = append(all, wire.ChatMessage{Role: event.RoleUser, Text: "And now?"})
	var q event.Question
	if err := wire.SetMessages(&q, "messages", all, 100); err != nil || len(q.History) != event.MaxMessages || q.History[len(q.History)-1].Text != "answer 499" || q.Validate() != nil {
		t.Errorf("%v: %d messages", err, len(q.History))
	}
	for size, refused := range map[int]bool{event.MaxInstructions - 3: false, event.MaxInstructions - 2: true} { // with a blank line between both
		given := append(all, wire.ChatMessage{Role: wire.RoleSystem, Text: strings.Repeat("x", size)}, wire.ChatMessage{Role: wire.RoleDeveloper, Text: "y", Path: "last"})
		err := wire.SetMessages(&q, "messages", given, 100)
		if f := fault.Public(err); refused != (f != nil && f.Field == "last") || !refused && (err != nil || len(q.Instructions) != event.MaxInstructions) {
			t.Errorf("%d bytes: %v, %d", size, err, len(q.Instructions))
		}
	}
}
