package access_test

import (
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/auth/oidc"
	"github.com/sluice-rag/sluice/server/access"
)

// grants sends the requests by which a sender could get the scope tenants: a new key, and the new secret of a key that has it. Each has the status.
func (s *site) grants(status int, sender ...string) {
	s.t.Helper()
	_, id := s.add("operator", nil, auth.Admin, auth.Tenants)
	for path, body := range map[string]string{"": `{"scopes":["tenants"]}`, " ": `{"scopes":["ask","tenants"]}`, "/" + id + "/rotate": `{}`} {
		r := s.do("POST", "/api/admin/keys"+strings.TrimSpace(path), body, sender...)
		if r.StatusCode != status && (status == 403 || r.StatusCode != 201) || status == 403 && (!strings.Contains(r.body, "the scope tenants") || strings.Contains(r.body, "sluice_")) {
			s.t.Errorf("%s %s: %s: %s", path, body, r.Status, r.body)
		}
	}
	if r := s.do("DELETE", "/api/admin/keys/"+id, "", sender...); (r.StatusCode == 403) != (status == 403) {
		s.t.Errorf("revoke: %s: %s", r.Status, r.body)
	}
	s.expect(201, "POST", "/api/admin/keys", `{"scopes":["ask","read","write","admin"]}`, sender...)
}

// TestAdministratorsCannotManageTenants: an administrator of a tenant cannot get the scope tenants, with a key, a login with a key, or a login at a
// provider. A sender who has it can give it to others.
func TestAdministratorsCannotManageTenants(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		scopes []auth.Scope
	}{"administrator": {403, []auth.Scope{auth.Ask, auth.Read, auth.Write, auth.Admin}}, "operator": {200, []auth.Scope{auth.Admin, auth.Tenants}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, access.Options{})
			key, _ := s.add("ann", nil, c.scopes...)
			s.grants(c.status, bearer(key)...)
			cookie := s.login(key, "Sec-Fetch-Site", "same-origin")
			s.grants(c.status, "Cookie", cookie.Name+"="+cookie.Value, "Sec-Fetch-Site", "same-origin")

			j := withProvider(t, func(o *oidc.Options, _ *access.Options) {
				o.Roles = []auth.Role{{Name: "staff", Tenant: "default", Scopes: c.scopes}}
			})
			j.provider.set(func(p *provider) {
				p.claims = map[string]any{"realm": map[string]any{"roles": []string{"tenants", "staff", "admin,tenants"}}, "scope": "tenants", "scopes": []string{"tenants"}}
			})
			_, cookies := j.logIn()
			j.grants(c.status, append(cookies.header(), "Sec-Fetch-Site", "same-origin")...)
		})
	}
}
