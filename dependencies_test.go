package sluice_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestDependenciesHaveReasons checks that each module that our code imports has a row in docs/dependencies.md that says what
// it is used for and why, and that each row belongs to a required module. It reads imports, because go.mod may list unused modules.
func TestDependenciesHaveReasons(t *testing.T) {
	t.Parallel()
	tree, err := parseTree(os.DirFS("."))
	require.NoError(t, err)
	required := requirements(t)
	direct := map[string]string{} // module to a file that imports it
	for _, files := range tree {
		for _, s := range files {
			for imported := range s.imports() {
				if m := moduleOf(imported, required); m != "" {
					direct[m] = s.path
				}
			}
		}
	}
	for _, manifest := range []string{"clients/typescript/package.json", "clients/official/package.json", "web/package.json"} {
		for _, m := range packages(t, manifest) {
			direct[m] = manifest
			required = append(required, m)
		}
	}
	rows := reasons(t)
	for m, file := range direct {
		if _, ok := rows[m]; !ok {
			t.Errorf("%s, needed by %s, has no row in docs/dependencies.md", m, file)
		}
	}
	for m, cells := range rows {
		if !slices.Contains(required, m) {
			t.Errorf("docs/dependencies.md has a row for %s, which nothing requires", m)
		}
		for _, cell := range cells {
			if len(strings.Fields(cell)) < 2 {
				t.Errorf("the row of %s in docs/dependencies.md says too little: %q", m, cell)
			}
		}
	}
}

// requirements lists the modules that go.mod requires.
func requirements(t *testing.T) (modules []string) {
	t.Helper()
	text, err := os.ReadFile("go.mod")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^(?:require)?\s+(\S+\.\S+) v\S+`).FindAllStringSubmatch(string(text), -1) {
		modules = append(modules, m[1])
	}
	if len(modules) == 0 {
		t.Fatal("go.mod was not understood")
	}
	return modules
}

// packages lists the packages from npm that a manifest names.
func packages(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var manifest struct{ Dependencies, DevDependencies map[string]string }
	if err := json.Unmarshal(text, &manifest); err != nil || len(manifest.DevDependencies) == 0 {
		t.Fatal(name, "was not understood", err)
	}
	return slices.Sorted(maps.Keys(manifest.DevDependencies))
}

// moduleOf gives the required module that holds the package: the longest whose path begins the package's.
func moduleOf(pkg string, required []string) (longest string) {
	for _, m := range required {
		if matches(m+"/...", pkg) && len(m) > len(longest) {
			longest = m
		}
	}
	return longest
}

// reasons reads the table: for each module, the cells after its name.
func reasons(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("docs/dependencies.md")
	require.NoError(t, err)
	rows := map[string][]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|(.*)\\|$").FindAllStringSubmatch(string(text), -1) {
		if rows[m[1]] != nil {
			t.Errorf("%s has two rows", m[1])
		}
		rows[m[1]] = strings.Split(m[2], "|")
		if len(rows[m[1]]) != 2 {
			t.Errorf("the row of %s has %d cells after its name, not 2", m[1], len(rows[m[1]]))
		}
	}
	return rows
}
