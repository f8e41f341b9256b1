package auth_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
)

func TestValidateTenant(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"default", "a", "7", "acme-2", "a-", strings.Repeat("x", 64), "console", "com10"} {
		if err := auth.ValidateTenant(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "-", "-a", "A", "a b", "a/b", "..", ".", `a\b`, "a.b", "a_b", "é", "a\n", "a\x00", strings.Repeat("x", 65), "con", "nul", "com1", "lpt9"} {
		if err := auth.ValidateTenant(name); err == nil || fault.Public(err).Field != "tenant" {
			t.Errorf("%q is accepted: %v", name, err)
		}
	}
}
