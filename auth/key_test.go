package auth_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestKeyText(t *testing.T) {
	t.Parallel()
	id, secret := auth.NewID(), auth.NewSecret()
	text := auth.Text(id, secret)
	if gotID, gotSecret, err := auth.Parse(text); err != nil || gotID != id || gotSecret != secret {
		t.Fatalf("%q, %q, %v", gotID, gotSecret, err)
	}
	if auth.NewID() == id || auth.NewSecret() == secret {
		t.Error("a second key is the same")
	}
	for i := range len(text) { // each character matters
		b := []byte(text)
		b[i] ^= 1
		if _, _, err := auth.Parse(string(b)); !errors.Is(err, auth.ErrMalformed) {
			t.Errorf("%d: %v", i, err)
		} else if strings.Contains(err.Error(), secret[:20]) {
			t.Errorf("the error shows the key: %v", err)
		}
	}
	for _, wrong := range []string{"", "sluice_", text[:len(text)-1], text + "a", strings.ToUpper(text), " " + text, strings.Replace(text, "sluice", "sluicf", 1)} {
		if _, _, err := auth.Parse(wrong); !errors.Is(err, auth.ErrMalformed) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(auth.Text(auth.NewID(), auth.NewSecret()))
	f.Add("sluice_aaaaaaaaaa_")
	f.Add(strings.Repeat("\xff", 77))
	f.Fuzz(func(t *testing.T, text string) {
		id, secret, err := auth.Parse(text)
		if err == nil && auth.Text(id, secret) != text {
			t.Errorf("%q has another text form", text)
		}
		if err != nil && (id != "" || secret != "") {
			t.Errorf("%q: an error with a result", text)
		}
	})
}

func TestValidate(t *testing.T) {
	t.Parallel()
	good := auth.Key{Tenant: "acme-1", Account: "alice@example.com", Name: "my laptop", Scopes: []auth.Scope{auth.Ask}, Origins: []string{"https://a.example:8443", "http://[::1]:3000"}}
	require.NoError(t, good.Validate())
	for field, change := range map[string]func(*auth.Key){
		"tenant":      func(k *auth.Key) { k.Tenant = "../x" },
		"account":     func(k *auth.Key) { k.Account = corpus.IssuerAccount },
		"name":        func(k *auth.Key) { k.Name = "a\x1b[31m" },
		"scope":       func(k *auth.Key) { k.Scopes = []auth.Scope{"all"} },
		"origin":      func(k *auth.Key) { k.Origins = []string{"*"} },
		"collections": func(k *auth.Key) { k.Collections = []string{"a", "b, c"} },
	} {
		k := good
		change(&k)
		if f, ok := errors.AsType[*fault.Error](k.Validate()); !ok || f.Field != field {
			t.Errorf("%s: %v", field, f)
		}
	}
	for _, wrong := range []string{"", "null", "https://a.example/", "https://a.example/x", "https://u@a.example", "https://A.example", "a.example", "ftp://a.example",
		"https://*.example", "https://a.example:443", "https://a.example?x", "https://a.example#x", "file://"} {
		if auth.CheckOrigin(wrong) == nil {
			t.Errorf("%q is an origin", wrong)
		}
	}
}

// TestCollections: a key with collections can be public, so it only has the scope ask and an account of its own.
func TestCollections(t *testing.T) {
	t.Parallel()
	good := auth.Key{Tenant: "acme", Account: "site", Scopes: []auth.Scope{auth.Ask}, Collections: []string{"manuals", "file:d1"}}
	require.NoError(t, good.Validate())
	for field, change := range map[string]func(*auth.Key){
		"account":     func(k *auth.Key) { k.Account = auth.Owner },
		"scope":       func(k *auth.Key) { k.Scopes = []auth.Scope{auth.Ask, auth.Read} },
		"collections": func(k *auth.Key) { k.Collections = []string{""} },
	} {
		k := good
		change(&k)
		if f, ok := errors.AsType[*fault.Error](k.Validate()); !ok || f.Field != field {
			t.Errorf("%s: %v", field, f)
		}
	}
	i := good.Identity()
	for scope, permitted := range map[string]bool{"manuals": true, " file:d1 , manuals": true, "": false, "default": false, "manuals,other": false, "file:d2": false, "d1": false, ",": false} {
		if err := i.CheckCollection(scope); (err == nil) != permitted {
			t.Errorf("%q: %v", scope, err)
		}
		if err := auth.Local().CheckCollection(scope); err != nil {
			t.Errorf("%q without collections: %v", scope, err)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	if l, err := auth.ParseRate("60/m"); err != nil || l.Interval() != time.Second || l.String() != "60/m" {
		t.Errorf("%v, %v", l, err)
	}
	for _, wrong := range []string{"", "60", "0/m", "-1/m", "60/day", "x/m", "60/m/m", "99999999999/s"} {
		if _, err := auth.ParseRate(wrong); err == nil {
			t.Errorf("%q is a rate", wrong)
		}
	}
	at := time.Date(2026, 12, 31, 23, 30, 0, 0, time.FixedZone("", -3600)) // 00:30 of the next year in UTC
	for text, want := range map[string][2]string{"5/day": {"2027-01-01", "2027-01-02T00:00:00Z"}, "5/month": {"2027-01", "2027-02-01T00:00:00Z"}} {
		l, err := auth.ParseQuota(text)
		if name, next := l.Window(at); err != nil || name != want[0] || next.Format(time.RFC3339) != want[1] {
			t.Errorf("%s: %s until %s, %v", text, name, next, err)
		}
	}
	if _, err := auth.ParseQuota("5/m"); err == nil {
		t.Error("5/m is a quota")
	}
}
