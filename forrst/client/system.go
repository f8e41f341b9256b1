package client

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluice-rag/sluice/forrst"
)

// Health is the state of a service.
type Health struct {
	Status     forrst.Status              `json:"status"`
	Timestamp  time.Time                  `json:"timestamp"`
	Components map[string]ComponentHealth `json:"components"`
	Functions  map[string]FunctionHealth  `json:"functions"`
	Version    string                     `json:"version"`
}

// ComponentHealth is the state of a component.
type ComponentHealth struct {
	Status    forrst.Status    `json:"status"`
	Latency   *forrst.Duration `json:"latency"`
	Message   string           `json:"message"`
	LastCheck time.Time        `json:"last_check"`
}

// FunctionHealth is the state of a function that is degraded, disabled or in maintenance.
type FunctionHealth struct {
	Status     forrst.Status    `json:"status"`
	Message    string           `json:"message"`
	RetryAfter *forrst.Duration `json:"retry_after"`
}

// Capabilities lists what a server has.
type Capabilities struct {
	Service          string                       `json:"service"`
	ProtocolVersions []string                     `json:"protocol_versions"`
	Extensions       []map[string]json.RawMessage `json:"extensions"` // each has the member urn
	Functions        []string                     `json:"functions"`
	Limits           map[string]json.RawMessage   `json:"limits"`
}

// Description describes a function.
type Description struct {
	Function           string               `json:"function"`
	Description        string               `json:"description"`
	SideEffects        []string             `json:"side_effects"`
	Versions           []VersionDescription `json:"versions"`
	RecommendedVersion string               `json:"recommended_version"`
}

// VersionDescription describes one version of a function. The schemas are JSON Schemas.
type VersionDescription struct {
	Version     string `json:"version"`
	Stability   string `json:"stability"`
	Description string `json:"description"`
	Deprecated  *struct {
		Reason string    `json:"reason"`
		Sunset time.Time `json:"sunset"`
	} `json:"deprecated"`
	Schema struct {
		Arguments json.RawMessage `json:"arguments"`
		Returns   json.RawMessage `json:"returns"`
	} `json:"schema"`
	Extensions struct {
		Supported []string `json:"supported"`
		Excluded  []string `json:"excluded"`
	} `json:"extensions"`
}

const systemURN = "urn:cline:forrst:fn:"

// repeatable are the options of functions that only read.
var repeatable = CallOptions{Repeatable: true}

// Ping returns an error if the server cannot be reached.
func (c *Client) Ping(ctx context.Context) (Health, error) {
	return Call[Health](ctx, c, systemURN+"ping", nil, repeatable)
}

// Health checks one component, or all if the name is empty. The component self is the process.
func (c *Client) Health(ctx context.Context, component string) (Health, error) {
	in := map[string]string{}
	if component != "" {
		in["component"] = component
	}
	return Call[Health](ctx, c, systemURN+"health", in, repeatable)
}

// Capabilities returns the functions, extensions and limits of the server.
func (c *Client) Capabilities(ctx context.Context) (Capabilities, error) {
	return Call[Capabilities](ctx, c, systemURN+"capabilities", nil, repeatable)
}

// Describe describes a version of a function, or all if the version is empty.
func (c *Client) Describe(ctx context.Context, function, version string) (Description, error) {
	in := map[string]string{"function": function}
	if version != "" {
		in["version"] = version
	}
	return Call[Description](ctx, c, systemURN+"describe", in, repeatable)
}
