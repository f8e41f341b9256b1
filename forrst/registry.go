package forrst

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// registered is a function with its validator.
type registered struct {
	Function
	arguments *jsonschema.Schema
	system    bool
}

// registry holds the functions by name; the versions of each are in ascending order. It is not changed after New.
type registry map[string][]*registered

// add registers a function.
func (r registry) add(f Function, system bool) error {
	err := f.check(system)
	if err == nil && slices.ContainsFunc(r[f.Name], func(o *registered) bool { return o.Version == f.Version }) {
		err = errors.New("the version is registered twice")
	}
	var schema *jsonschema.Schema
	if err == nil {
		schema, err = compile(f.Arguments)
	}
	if err == nil && f.Returns != nil {
		_, err = compile(f.Returns)
	}
	if err != nil {
		return fmt.Errorf("forrst: function %q version %q: %w", f.Name, f.Version, err)
	}
	r[f.Name] = append(r[f.Name], &registered{Function: f, arguments: schema, system: system})
	slices.SortFunc(r[f.Name], func(a, b *registered) int { return compareVersions(a.Version, b.Version) })
	return nil
}

// versions returns the versions of a function that can be called, in ascending order.
func (r registry) versions(name string, now time.Time) (out []*registered) {
	for _, f := range r[canonicalName(name)] {
		if !f.retired(now) {
			out = append(out, f)
		}
	}
	return out
}

// newest returns the newest stable one of some versions, or nil.
func newest(versions []*registered) *registered {
	for _, f := range slices.Backward(versions) {
		if stability(f.Version) == "stable" {
			return f
		}
	}
	return nil
}

// resolve finds a function. An empty version selects the newest stable one, and a short one the newest stable one that it
// matches.
func (r registry) resolve(name, version string, now time.Time) (*registered, *CallError) {
	if len(r[canonicalName(name)]) == 0 {
		return nil, Errorf(FunctionNotFound, "the function does not exist").At("/call/function").With(map[string]any{"function": cut(name)})
	}
	all := r.versions(name, now)
	var found *registered
	switch {
	case version == "":
		found = newest(all)
	case shortVersion(version):
		found = newest(slices.DeleteFunc(slices.Clone(all), func(f *registered) bool { return !matchesShort(f.Version, version) }))
	default:
		if i := slices.IndexFunc(all, func(f *registered) bool { return f.Version == version }); i >= 0 {
			found = all[i]
		}
	}
	if found != nil {
		return found, nil
	}
	details := map[string]any{"function": name, "requested_version": nil, "available_versions": versionNames(all)}
	text := "the function has no stable version"
	if version != "" {
		details["requested_version"] = cut(version)
		text = "the function does not have this version"
	}
	return nil, Errorf(VersionNotFound, "%s", text).At("/call/version").With(details)
}

func versionNames(versions []*registered) []string {
	names := make([]string, len(versions))
	for i, f := range versions {
		names[i] = f.Version
	}
	return names
}
