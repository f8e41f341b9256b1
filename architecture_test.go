package sluice_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

// TestArchitecturePage compares docs/architecture.md with the code: the tables list every package once, and each arrow of the
// drawings exists. A solid arrow is an import. A dashed arrow is a call through an interface, so the package at its head imports
// the one at its tail and not the reverse. An arrow with a label crosses the network: neither package imports the other.
func TestArchitecturePage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/architecture.md")
	require.NoError(t, err)
	tree, err := parseTree(os.DirFS("."))
	require.NoError(t, err)
	imports := map[string]map[string]bool{}
	tree.each(func(pkg string, s source) {
		if imports[pkg] == nil {
			imports[pkg] = map[string]bool{}
		}
		for path := range s.imports() {
			if short, ours := strings.CutPrefix(path, module+"/"); ours {
				imports[pkg][short] = true
			} else if path == module {
				imports[pkg]["."] = true
			}
		}
	})
	t.Run("packages", func(t *testing.T) {
		checkPackageTables(t, string(text), slices.Sorted(maps.Keys(imports)))
	})
	drawings := regexp.MustCompile("(?s)```mermaid\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(drawings) == 0 {
		t.Fatal("docs/architecture.md has no drawing")
	}
	for _, drawing := range drawings {
		checkDrawing(t, drawing[1], imports)
	}
}

// checkPackageTables compares the first column of the tables with the packages of the module.
func checkPackageTables(t *testing.T, text string, packages []string) {
	listed := map[string]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(text, -1) {
		listed[row[1]]++
	}
	for _, pkg := range packages {
		if listed[pkg] != 1 {
			t.Errorf("docs/architecture.md lists package %s %d times, want once", pkg, listed[pkg])
		}
		delete(listed, pkg)
	}
	for _, pkg := range slices.Sorted(maps.Keys(listed)) {
		t.Errorf("docs/architecture.md lists %s, which is not a package", pkg)
	}
}

var (
	drawingNode  = regexp.MustCompile(`(\w+)\["([^"]+)"\]`)
	drawingArrow = regexp.MustCompile(`(?m)^\s*(\w+) (-->|-\.->|-- .+ -->) (\w+)\s*$`)
)

func checkDrawing(t *testing.T, drawing string, imports map[string]map[string]bool) {
	nodes := map[string]string{}
	for _, node := range drawingNode.FindAllStringSubmatch(drawing, -1) {
		nodes[node[1]] = node[2]
	}
	arrows := drawingArrow.FindAllStringSubmatch(drawingNode.ReplaceAllString(drawing, "$1"), -1)
	if len(arrows) < 3 {
		t.Fatalf("only %d arrows found in the drawing:\n%s", len(arrows), drawing)
	}
	for _, arrow := range arrows {
		from, to := nodes[arrow[1]], nodes[arrow[3]]
		if imports[from] == nil || imports[to] == nil {
			t.Errorf("%s: %q or %q is not a package", strings.TrimSpace(arrow[0]), from, to)
			continue
		}
		forward, back := imports[from][to], imports[to][from]
		switch {
		case arrow[2] == "-->" && !forward:
			t.Errorf("solid arrow: %s does not import %s", from, to)
		case arrow[2] == "-.->" && (forward || !back):
			t.Errorf("dashed arrow: want %s to import %s, and not the reverse", to, from)
		case strings.HasPrefix(arrow[2], "-- ") && (forward || back):
			t.Errorf("arrow with a label: %s and %s import each other", from, to)
		}
	}
}
