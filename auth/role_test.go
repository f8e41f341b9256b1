package auth_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/auth"
)

func TestParseRole(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]auth.Role{
		"editors=ask,read, write":   {Name: "editors", Tenant: "default", Scopes: []auth.Scope{auth.Ask, auth.Read, auth.Write}},
		"cn=staff,dc=x=ask@acme":    {Name: "cn=staff,dc=x", Tenant: "acme", Scopes: []auth.Scope{auth.Ask}},
		"operators=admin,tenants":   {Name: "operators", Tenant: "default", Scopes: []auth.Scope{auth.Admin, auth.Tenants}},
		"a@b=admin":                 {Name: "a@b", Tenant: "default", Scopes: []auth.Scope{auth.Admin}},
		"https://example.com/r=ask": {Name: "https://example.com/r", Tenant: "default", Scopes: []auth.Scope{auth.Ask}},
	} {
		got, err := auth.ParseRole(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	for _, text := range []string{"", "editors", "=ask", "editors=", "editors=all", "editors=ask,", "editors=ask@", "editors=ask@Acme", "editors=ask@a@b", "editors=ask@../x"} {
		if got, err := auth.ParseRole(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestGrant(t *testing.T) {
	t.Parallel()
	roles := []auth.Role{{Name: "b", Tenant: "acme", Scopes: []auth.Scope{auth.Ask}}, {Name: "c", Tenant: "other", Scopes: []auth.Scope{auth.Admin}},
		{Name: "a", Tenant: "acme", Scopes: []auth.Scope{auth.Ask, auth.Write}}}
	for _, c := range []struct {
		names []string
		want  auth.Role
	}{
		{[]string{"a", "c", "b"}, auth.Role{Name: "b", Tenant: "acme", Scopes: []auth.Scope{auth.Ask, auth.Write}}},
		{[]string{"a", "c"}, auth.Role{Name: "c", Tenant: "other", Scopes: []auth.Scope{auth.Admin}}},
		{[]string{"A", ""}, auth.Role{}},
		{nil, auth.Role{}},
	} {
		got, ok := auth.Grant(roles, c.names)
		if diff := cmp.Diff(c.want, got); diff != "" || ok != (c.want.Name != "") {
			t.Errorf("%q: %v\n%s", c.names, ok, diff)
		}
	}
	if len(roles[0].Scopes) != 1 {
		t.Error("the settings have changed")
	}
}
