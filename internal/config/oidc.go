package config

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/fault"
)

// OIDC holds the settings of the login by OpenID Connect.
type OIDC struct {
	Issuer      string   `name:"oidc-issuer" placeholder:"URL" optional:"" help:"OpenID provider at which people log in, by its issuer, such as https://login.example.com. Every request needs a login or a key then. Empty: none."`
	ClientID    string   `name:"oidc-client-id" placeholder:"ID" optional:"" maxlen:"512" help:"Id of this server at the OpenID provider, where its callback is the public-url followed by /auth/oidc/callback."`
	Name        string   `name:"oidc-name" placeholder:"NAME" optional:"" maxlen:"64" help:"Name of the OpenID provider on the button of the page. The default is its host."`
	Scopes      string   `name:"oidc-scopes" default:"openid profile email" maxlen:"512" help:"Scopes that are requested from the OpenID provider, separated by spaces."`
	Account     string   `name:"oidc-account" placeholder:"CLAIM" optional:"" maxlen:"256" help:"Claim with the account of a person. It must be unique, and people must not be able to change it. The default is email if the provider has verified it, and otherwise oidc: and sub."`
	RoleClaim   string   `name:"oidc-roles" placeholder:"CLAIM" optional:"" maxlen:"256" help:"Claim with the roles of a person. A dot separates the names of nested objects, as in realm_access.roles."`
	Role        []string `name:"oidc-role" split:";" placeholder:"NAME=SCOPES[@TENANT]" optional:"" help:"What a role permits, such as editors=ask,read,write or staff=ask,read@acme. Can be repeated. The first role that a person has decides the tenant; the scopes of all roles of this tenant count."`
	DefaultRole string   `name:"oidc-default-role" placeholder:"SCOPES[@TENANT]" optional:"" help:"What a login permits that has none of the roles, such as ask. Empty: it is refused."`
}

// variableOfSecret is the variable of the client secret.
const variableOfSecret = "SLUICE_OIDC_CLIENT_SECRET"

// maxDots limits the dots of a claim, each of which may enter an object or be a part of a name: every combination is tried.
const maxDots = 10

// Roles returns Role and DefaultRole in their parsed form.
func (o OIDC) Roles() (roles []auth.Role, other auth.Role, err error) {
	for _, text := range o.Role {
		r, err := auth.ParseRole(text)
		if err != nil {
			return nil, other, err
		}
		roles = append(roles, r)
	}
	if o.DefaultRole != "" {
		other, err = auth.ParseGrant(o.DefaultRole)
	}
	return roles, other, err
}

// checkLogin appends faults of the settings of the login.
func (c Config) checkLogin(faults Faults) Faults {
	add := func(setting, problem string) {
		if !faults.has(setting) {
			faults = append(faults, Fault{Setting: setting, Problem: problem})
		}
	}
	o := c.OIDC
	switch u := c.HTTP.PublicURL; {
	case u == "":
	case auth.CheckOrigin(u) != nil:
		add("public-url", "must be an address without a path, such as https://sluice.example.com")
	case o.Issuer != "" && !secure(u):
		add("public-url", "must begin with https:// for the login by OpenID Connect")
	}
	for _, text := range o.Role {
		if _, err := auth.ParseRole(text); err != nil {
			add("oidc-role", message(err))
		}
	}
	if o.DefaultRole != "" {
		if _, err := auth.ParseGrant(o.DefaultRole); err != nil {
			add("oidc-default-role", message(err))
		}
	}
	for setting, claim := range map[string]string{"oidc-account": o.Account, "oidc-roles": o.RoleClaim} {
		if strings.Count(claim, ".") > maxDots {
			add(setting, "must have at most 10 dots")
		}
	}
	if !slices.Contains(strings.Fields(o.Scopes), "openid") {
		add("oidc-scopes", "must contain openid")
	}
	switch u, err := url.Parse(o.Issuer); {
	case o.Issuer == "" && o.ClientID != "":
		add("oidc-client-id", "is set, but no oidc-issuer")
	case o.Issuer == "":
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !secure(o.Issuer):
		add("oidc-issuer", "must be an https address without a query, such as https://login.example.com")
	case o.ClientID == "":
		add("oidc-issuer", "needs an oidc-client-id")
	case len(o.Role) == 0 && o.DefaultRole == "":
		add("oidc-issuer", "needs an oidc-role or an oidc-default-role, or else everybody is refused")
	case len(o.Role) > 0 && o.RoleClaim == "":
		add("oidc-role", "needs oidc-roles, which is the claim with the roles")
	}
	return faults
}

// secure reports whether an address is one over TLS or on this machine.
func secure(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return err == nil && u.Scheme == "https"
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

func message(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Message
	}
	return err.Error()
}
