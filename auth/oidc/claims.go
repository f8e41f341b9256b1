package oidc

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/sluice-rag/sluice/auth"
	"github.com/sluice-rag/sluice/corpus"
)

// identify returns the identity for the claims of a person.
func (c *Client) identify(claims map[string]any) (auth.Identity, error) {
	account, err := c.account(claims)
	if err != nil {
		return auth.Identity{}, err
	}
	role, ok := auth.Grant(c.o.Roles, names(lookup(claims, c.o.RoleClaim)))
	if !ok {
		role = c.o.Default
	}
	if len(role.Scopes) == 0 {
		return auth.Identity{}, refuse(NoRole, "the person has none of the roles of the settings")
	}
	return auth.Identity{Tenant: role.Tenant, Account: account, Key: c.id, Scopes: role.Scopes}, nil
}

// Prefixes of the accounts of people without a verified address. An address with a colon is not used, and a subject that cannot be an account is
// hashed under a prefix of its own, so that no two people share an account.
const (
	subjectPrefix = "oidc:"
	hashPrefix    = "oidc-sha256:"
)

// account returns the account of a person.
func (c *Client) account(claims map[string]any) (string, error) {
	if c.o.Account != "" {
		name, _ := lookup(claims, c.o.Account).(string)
		if !corpus.ValidAccount(name) || name == auth.Owner {
			return "", refuse(Account, "the claim %q holds no name of an account", c.o.Account)
		}
		return name, nil
	}
	email, _ := claims["email"].(string)
	verified := claims["email_verified"]
	if (verified == true || verified == "true") && corpus.ValidAccount(email) && strings.Contains(email, "@") && !strings.Contains(email, ":") {
		return email, nil
	}
	subject, _ := claims["sub"].(string) // was checked
	if name := subjectPrefix + subject; corpus.ValidAccount(name) {
		return name, nil
	}
	sum := sha256.Sum256([]byte(subject))
	return hashPrefix + hex.EncodeToString(sum[:]), nil
}

// lookup returns the value of a claim. Each dot of its name enters an object, unless a claim has the dot in its own name, as URLs have.
func lookup(claims map[string]any, name string) any {
	if v, ok := claims[name]; ok {
		return v
	}
	for i := range name {
		if name[i] != '.' {
			continue
		}
		if inner, ok := claims[name[:i]].(map[string]any); ok {
			if v := lookup(inner, name[i+1:]); v != nil {
				return v
			}
		}
	}
	return nil
}

// names returns the roles of a claim: a text, the texts of a list, or the names of an object, as different providers write them.
func names(claim any) (out []string) {
	switch v := claim.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
	case map[string]any:
		for name := range v {
			out = append(out, name)
		}
	}
	return out
}
