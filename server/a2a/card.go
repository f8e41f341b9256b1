package a2a

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/sluice-rag/sluice/fault"
	"github.com/sluice-rag/sluice/server"
	"github.com/sluice-rag/sluice/wire/a2a"
)

// keyScheme is the name of the security scheme in the card.
const keyScheme = "key"

// The agent card: https://a2a-protocol.org/v1.0.0/specification, the message AgentCard of a2a.proto.
type (
	// Card describes the server to agents.
	Card struct {
		Name                 string                    `json:"name"`
		Description          string                    `json:"description"`
		SupportedInterfaces  []Interface               `json:"supportedInterfaces"`
		Version              string                    `json:"version"`
		Capabilities         Capabilities              `json:"capabilities"`
		SecuritySchemes      map[string]SecurityScheme `json:"securitySchemes,omitempty" description:"If requests need a key."`
		SecurityRequirements []Requirement             `json:"securityRequirements,omitempty"`
		DefaultInputModes    []string                  `json:"defaultInputModes"`
		DefaultOutputModes   []string                  `json:"defaultOutputModes"`
		Skills               []Skill                   `json:"skills"`
	}
	// Interface is where methods are called.
	Interface struct {
		URL             string `json:"url"`
		ProtocolBinding string `json:"protocolBinding" enum:"JSONRPC"`
		ProtocolVersion string `json:"protocolVersion" enum:"1.0"`
	}
	// Capabilities are the optional parts of the protocol.
	Capabilities struct {
		Streaming         bool `json:"streaming"`
		PushNotifications bool `json:"pushNotifications"`
		ExtendedAgentCard bool `json:"extendedAgentCard"`
	}
	// SecurityScheme is how a request has its key.
	SecurityScheme struct {
		HTTP HTTPScheme `json:"httpAuthSecurityScheme"`
	}
	// HTTPScheme is a scheme of the header Authorization.
	HTTPScheme struct {
		Description string `json:"description"`
		Scheme      string `json:"scheme" enum:"Bearer"`
	}
	// Requirement are schemes that a request needs together.
	Requirement struct {
		Schemes map[string]Scopes `json:"schemes"`
	}
	// Scopes is a list of scopes.
	Scopes struct {
		List []string `json:"list,omitempty"`
	}
	// Skill is what the server can do.
	Skill struct {
		ID          string   `json:"id"`
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Tags        []string `json:"tags"`
		Examples    []string `json:"examples"`
	}
)

// card replies with the agent card.
func (s *routes) card(w http.ResponseWriter, r *http.Request) error {
	at := cmp.Or(strings.TrimSuffix(s.PublicURL, "/"), originOf(r))
	if at == "" {
		return fault.Invalid("Host", "want the host of this server")
	}
	c := Card{
		Name: "Sluice", Version: cmp.Or(s.Version, "0"),
		Description:         "Answers questions from the documents of this server, with citations.",
		SupportedInterfaces: []Interface{{at + Path, "JSONRPC", a2a.Version}},
		Capabilities:        Capabilities{Streaming: true},
		DefaultInputModes:   []string{"text/plain"},
		DefaultOutputModes:  []string{"text/plain", "application/json"},
		Skills: []Skill{{ID: "ask", Name: "Ask the documents", Tags: []string{"rag", "search", "documents", "citations"},
			Description: "Answers a question from the documents, and names the passages that support the answer. Messages with the same contextId are a conversation.",
			Examples:    []string{"What do the documents say about this?", "Which documents are there?"}}},
	}
	if s.KeyRequired != nil {
		required, err := s.KeyRequired(r.Context())
		if err != nil {
			return err
		}
		if required {
			c.SecuritySchemes = map[string]SecurityScheme{keyScheme: {HTTPScheme{"A key of this server.", "Bearer"}}}
			c.SecurityRequirements = []Requirement{{map[string]Scopes{keyScheme: {}}}}
		}
	}
	w.Header().Set("Vary", "Host, X-Forwarded-Proto")
	server.ReplyJSON(w, http.StatusOK, c)
	return nil
}

// originOf returns the origin that a request was sent to; empty: the header Host is no host.
func originOf(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		scheme = "https"
	}
	origin := scheme + "://" + r.Host
	if u, err := url.Parse(origin); err != nil || r.Host == "" || u.Host != r.Host || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return ""
	}
	return origin
}
