package auth

import (
	"slices"
	"strings"

	"github.com/sluice-rag/sluice/fault"
)

// Role is what people may do who have a role at another service, such as a group of an identity provider.
type Role struct {
	Name   string // at the other service
	Tenant string
	Scopes []Scope
}

// ParseRole parses a role in the form NAME=SCOPES or NAME=SCOPES@TENANT, such as editors=ask,read,write@acme. The name may contain = signs.
func ParseRole(text string) (Role, error) {
	i := strings.LastIndexByte(text, '=')
	if i < 1 {
		return Role{}, fault.Invalid("role", "want a name and scopes, such as editors=ask,read,write")
	}
	r, err := ParseGrant(text[i+1:])
	r.Name = text[:i]
	return r, err
}

// ParseGrant parses what a role permits: SCOPES or SCOPES@TENANT. Without a tenant it is [DefaultTenant].
func ParseGrant(text string) (Role, error) {
	scopes, tenant, named := strings.Cut(text, "@")
	if !named {
		tenant = DefaultTenant
	}
	k := Key{Tenant: tenant, Account: Owner}
	for s := range strings.SplitSeq(scopes, ",") {
		k.Scopes = append(k.Scopes, Scope(strings.TrimSpace(s)))
	}
	return Role{Tenant: tenant, Scopes: k.Scopes}, k.Validate()
}

// Grant returns the rights of somebody who has roles: the tenant of the first role of the list that is one of the names, and the scopes of all such
// roles of this tenant. ok is false if there is none.
func Grant(roles []Role, names []string) (granted Role, ok bool) {
	for _, r := range roles {
		if !slices.Contains(names, r.Name) || ok && r.Tenant != granted.Tenant {
			continue
		}
		if !ok {
			granted.Name, granted.Tenant, ok = r.Name, r.Tenant, true
		}
		for _, s := range r.Scopes {
			if !slices.Contains(granted.Scopes, s) {
				granted.Scopes = append(granted.Scopes, s)
			}
		}
	}
	return granted, ok
}
