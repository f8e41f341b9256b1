package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func TestLoginSettings(t *testing.T) {
	const key = "verysecret"
	cfg, _, _, err := load(t, input{
		args: []string{"serve", "--oidc-issuer", "https://login.example", "--oidc-client-id", "sluice", "--oidc-roles", "realm_access.roles", "--oidc-role", "a=ask", "--oidc-role", "b=ask,read@acme", "--public-url", "https://sluice.example"},
		env:  map[string]string{"SLUICE_OIDC_CLIENT_SECRET": key, "SLUICE_OIDC_DEFAULT_ROLE": "ask"},
	})
	require.NoError(t, err)
	roles, other, err := cfg.OIDC.Roles()
	want := []auth.Role{{Name: "a", Tenant: "default", Scopes: []auth.Scope{auth.Ask}}, {Name: "b", Tenant: "acme", Scopes: []auth.Scope{auth.Ask, auth.Read}}}
	if diff := cmp.Diff(want, roles); err != nil || diff != "" || len(other.Scopes) != 1 || cfg.Keys.OIDC.Reveal() != key || cfg.OIDC.Scopes != "openid profile email" {
		t.Errorf("%v %+v\n%s", err, cfg.OIDC, diff)
	}
	cfg, _, _, err = load(t, input{args: []string{"serve"}, env: map[string]string{"SLUICE_OIDC_ISSUER": "http://127.0.0.1:9", "SLUICE_OIDC_CLIENT_ID": "x", "SLUICE_OIDC_ROLES": "r", "SLUICE_OIDC_ROLE": "a=ask,read; b=admin"}})
	if err != nil || len(cfg.OIDC.Role) != 2 {
		t.Errorf("%v %q", err, cfg.OIDC.Role)
	}
}

func TestLoginFaults(t *testing.T) {
	const issuer = "--oidc-issuer=https://login.example --oidc-client-id=x "
	for args, want := range map[string]string{
		"--oidc-issuer=https://login.example":                  "oidc-issuer: needs an oidc-client-id",
		issuer:                                                 "oidc-issuer: needs an oidc-role or an oidc-default-role",
		issuer + "--oidc-role=a=ask":                           "oidc-role: needs oidc-roles",
		issuer + "--oidc-roles=r --oidc-role=a=all":            "oidc-role: scope: want ask, read, write, admin or tenants",
		issuer + "--oidc-default-role=ask@A":                   "oidc-default-role: tenant: want 1 to 64 lower-case letters",
		issuer + "--oidc-default-role=ask --oidc-scopes=email": "oidc-scopes: must contain openid",
		"--oidc-issuer=http://login.example --oidc-client-id=x --oidc-default-role=ask": "oidc-issuer: must be an https address",
		"--oidc-issuer=https://a:s3cret@login.example --oidc-client-id=x":               "oidc-issuer: must be an https address",
		"--oidc-issuer=https://login.example?s3cret --oidc-client-id=x":                 "oidc-issuer: must be an https address",
		issuer + "--oidc-default-role=ask --oidc-account=............":                  "oidc-account: must have at most 10 dots",
		"--oidc-client-id=x": "oidc-client-id: is set, but no oidc-issuer",
		issuer + "--oidc-default-role=ask --public-url=http://sluice.example": "public-url: must begin with https://",
		"--public-url=sluice.example":                                         "public-url: must be an address without a path",
		"--public-url=https://sluice.example/":                                "public-url: must be an address without a path",
		"--public-url=https://a/b":                                            "public-url: must be an address without a path",
	} {
		_, _, _, err := load(t, input{args: append([]string{"serve"}, strings.Fields(args)...)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}
