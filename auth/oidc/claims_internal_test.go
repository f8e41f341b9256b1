package oidc

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestNamesOfClaim(t *testing.T) {
	t.Parallel()
	var claims map[string]any
	require.NoError(t, json.Unmarshal([]byte(`{"groups":["a","b",3,null,["c"]],"role":"a","realm_access":{"roles":["r"],"deep.er":{"x":["y"]}},
		"https://example.com/roles":["url"],"urn:zitadel:roles":{"admin":{"1":"x"}},"number":7,"text":"a b"}`), &claims))
	for name, want := range map[string]string{
		"groups": "a b", "role": "a", "realm_access.roles": "r", "realm_access.deep.er.x": "y", "https://example.com/roles": "url", "urn:zitadel:roles": "admin",
		"number": "", "realm_access.none": "", "role.x": "", "": "", ".": "", "realm_access.": "",
	} {
		if got := names(lookup(claims, name)); strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := names(lookup(claims, "text")); !slices.Equal(got, []string{"a b"}) {
		t.Errorf("a text is one role, not %q", got)
	}
}

// TestAccountsDoNotCollide: each pair of people has different accounts, whatever a provider allows as names.
func TestAccountsDoNotCollide(t *testing.T) {
	t.Parallel()
	c := New(Options{Issuer: "https://login.example"})
	long := strings.Repeat("x", 200)
	seen := map[string]string{}
	for _, claims := range []map[string]any{
		{"sub": "1", "email": "ada@example.org", "email_verified": true},
		{"sub": "1b", "email": "Ada@example.org", "email_verified": "true"},
		{"sub": "2", "email": "ada@example.org", "email_verified": false},
		{"sub": "3", "email": "ada@example.org"},
		{"sub": "4", "email": "owner", "email_verified": true},
		{"sub": "5", "email": "platform", "email_verified": true},
		{"sub": "6", "email": "oidc:1@x", "email_verified": true},
		{"sub": "7", "email": "ada@example.org", "email_verified": "false"},
		{"sub": "8", "email": []any{"ada@example.org"}, "email_verified": true},
		{"sub": "1@x"},
		{"sub": long}, {"sub": long + "y"}, {"sub": " 1"}, {"sub": "1\x00"}, {"sub": "1 "}, {"sub": "\xff"},
		{"sub": "owner"}, {"sub": "ada@example.org"},
	} {
		account, err := c.account(claims)
		text := claims["sub"].(string)
		if err != nil || !corpus.ValidAccount(account) || account == "owner" {
			t.Errorf("%v: %q %v", claims, account, err)
		}
		if other, taken := seen[account]; taken {
			t.Errorf("%q and %q have the account %q", other, text, account)
		}
		seen[account] = text
	}
	account, _ := c.account(map[string]any{"sub": long})
	if other, _ := c.account(map[string]any{"sub": strings.TrimPrefix(account, "oidc:")}); other == account {
		t.Errorf("the subject of somebody can be the hash of another's: %s", account)
	}
}

func FuzzClaims(f *testing.F) {
	f.Add(`{"sub":"1","a":{"b":["c"]},"email":"a@b","email_verified":true}`, "a.b")
	f.Add(`{"sub":"\u0000","a.b":{"c":"d"}}`, "a.b.c")
	f.Fuzz(func(t *testing.T, text, path string) {
		var claims map[string]any
		if json.Unmarshal([]byte(text), &claims) != nil || len(path) > 256 || strings.Count(path, ".") > 12 {
			return
		}
		names(lookup(claims, path))
		account, err := New(Options{}).account(claims)
		if err != nil || !corpus.ValidAccount(account) || account == "owner" {
			t.Errorf("%q, %v", account, err)
		}
	})
}
