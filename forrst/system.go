package forrst

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// System functions, all in version 1.0.0. Clients may also call them urn:cline:forrst:fn:NAME and forrst.NAME.
const (
	pingName         = "urn:forrst:fn:ping"
	healthName       = "urn:forrst:fn:health"
	describeName     = "urn:forrst:fn:describe"
	capabilitiesName = "urn:forrst:fn:capabilities"
)

// systemFunctions returns the system functions of the server.
func (s *Server) systemFunctions() []Function {
	ping := Func(pingName, "1.0.0", func(context.Context, struct{}) (pingResult, error) {
		return pingResult{Healthy, milliseconds(time.Now())}, nil
	})
	ping.Description = "Reports that the server is reachable."
	health := Func(healthName, "1.0.0", s.health)
	health.Description = "Checks the components of the service. The component self is checked by the reply itself."
	describe := Func(describeName, "1.0.0", s.describe)
	describe.Description = "Describes a function: its versions, schemas and extensions."
	capabilities := Func(capabilitiesName, "1.0.0", s.capabilities)
	capabilities.Description = "Lists the functions, extensions and limits of the server."
	return []Function{ping, health, describe, capabilities}
}

type pingResult struct {
	Status    Status    `json:"status"`
	Timestamp time.Time `json:"timestamp"`
}

// milliseconds returns t in UTC, cut to milliseconds.
func milliseconds(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// Capabilities lists what a server has.
type Capabilities struct {
	Service          string           `json:"service"`
	ProtocolVersions []string         `json:"protocol_versions"`
	Extensions       []map[string]any `json:"extensions"` // each has the member urn
	Functions        []string         `json:"functions"`
	Limits           map[string]int64 `json:"limits"`
	RateLimits       []PublicLimit    `json:"rate_limits,omitempty"`
}

func (s *Server) capabilities(context.Context, struct{}) (Capabilities, error) {
	out := Capabilities{Service: s.options.Service, ProtocolVersions: []string{version}, Extensions: []map[string]any{},
		Functions: slices.Sorted(maps.Keys(s.functions)),
		Limits: map[string]int64{"max_request_bytes": s.options.MaxRequest, "max_response_bytes": s.options.MaxResponse,
			"max_extensions": maxExtensions, "max_options_bytes": maxOptions}}
	for _, e := range s.extensions {
		entry := map[string]any{}
		maps.Copy(entry, e.Capability())
		entry["urn"] = e.URN()
		out.Extensions = append(out.Extensions, entry)
		if r, ok := e.(*RateLimit); ok {
			out.RateLimits = r.public()
		}
	}
	return out, nil
}

type describeArguments struct {
	Function      string `json:"function" required:"true" minLength:"1" description:"The name of a function."`
	Version       string `json:"version,omitempty" description:"A version. Default: all versions."`
	IncludeSchema *bool  `json:"include_schema,omitempty" default:"true" description:"Whether the schemas are included."`
}

// Description describes a function.
type Description struct {
	Function           string               `json:"function"`
	Description        string               `json:"description"`
	SideEffects        []string             `json:"side_effects"`
	Versions           []VersionDescription `json:"versions"`
	RecommendedVersion string               `json:"recommended_version,omitempty"`
}

// VersionDescription describes one version of a function.
type VersionDescription struct {
	Version     string              `json:"version"`
	Stability   string              `json:"stability"`
	Description string              `json:"description,omitempty"`
	Deprecated  *Deprecation        `json:"deprecated,omitempty"`
	Schema      *FunctionSchema     `json:"schema,omitempty"`
	Extensions  *FunctionExtensions `json:"extensions,omitempty"`
}

// FunctionSchema has the JSON Schemas of a function.
type FunctionSchema struct {
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Returns   json.RawMessage `json:"returns,omitempty"`
}

// FunctionExtensions are the extensions of a function: only the supported ones, or all but the excluded ones.
type FunctionExtensions struct {
	Supported []string `json:"supported,omitempty"`
	Excluded  []string `json:"excluded,omitempty"`
}

func (s *Server) describe(_ context.Context, in describeArguments) (out Description, err error) {
	now := time.Now()
	versions := s.functions.versions(in.Function, now)
	recommended := newest(versions)
	if in.Version != "" || len(versions) == 0 {
		f, e := s.functions.resolve(in.Function, in.Version, now)
		if e != nil {
			at := "/call/arguments/function"
			if e.Code == VersionNotFound {
				at = "/call/arguments/version"
			}
			return out, e.At(at)
		}
		versions = []*registered{f}
	}
	shown := recommended
	if in.Version != "" || shown == nil {
		shown = versions[len(versions)-1]
	}
	out = Description{Function: shown.Name, Description: shown.Description, SideEffects: slices.Clone(shown.SideEffects)}
	if out.SideEffects == nil {
		out.SideEffects = []string{}
	}
	if recommended != nil {
		out.RecommendedVersion = recommended.Version
	}
	for _, f := range versions {
		v := VersionDescription{Version: f.Version, Stability: stability(f.Version), Description: f.Description, Deprecated: f.Deprecated}
		if in.IncludeSchema == nil || *in.IncludeSchema {
			v.Schema = &FunctionSchema{f.Arguments, f.Returns}
		}
		if len(f.Supported)+len(f.Excluded) > 0 {
			v.Extensions = &FunctionExtensions{f.Supported, f.Excluded}
		}
		out.Versions = append(out.Versions, v)
	}
	return out, nil
}
