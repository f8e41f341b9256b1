package sluice_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-rag/sluice/internal/tools/require"
)

const module = "github.com/sluice-rag/sluice"

// source is one parsed Go file.
type source struct {
	path      string
	test      bool
	generated bool
	lines     int
	fset      *token.FileSet
	ast       *ast.File
}

// sources holds the files of each package of the module by folder.
type sources map[string][]source

// rules are the checks of the architecture. A violation reads "what: why"; "what" is its key in the table of exceptions.
var rules = []struct {
	name  string
	check func(sources) []string
}{
	{"imports", checkImports},
	{"the server's binary", checkBinary},
	{"protocols are pure", checkPurity},
	{"sizes", checkSizes},
	{"package names and comments", checkPackages},
	{"exported names have comments", checkDocs},
	{"tests do not sleep", checkSleeps},
}

// parseTree parses every Go file of the module, whatever its build tags.
func parseTree(root fs.FS) (sources, error) {
	tree := sources{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if name != "." && (base == "testdata" || base == "node_modules" || base == "vendor" || base[0] == '.' || base[0] == '_') {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" || base[0] == '.' || base[0] == '_' {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse: %w", err)
		}
		tree[path.Dir(name)] = append(tree[path.Dir(name)], source{
			path: name, test: strings.HasSuffix(name, "_test.go"), generated: ast.IsGenerated(file),
			lines: strings.Count(string(text), "\n"), fset: fset, ast: file,
		})
		return nil
	})
	return tree, err
}

// each calls f for every non-test file, ordered by package.
func (tree sources) each(f func(pkg string, s source)) {
	for _, pkg := range slices.Sorted(maps.Keys(tree)) {
		for _, s := range tree[pkg] {
			if !s.test {
				f(pkg, s)
			}
		}
	}
}

// imports returns the import paths of the file and the local name of each.
func (s source) imports() map[string]string {
	paths := map[string]string{}
	for _, spec := range s.ast.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		paths[p] = path.Base(p)
		if spec.Name != nil {
			paths[p] = spec.Name.Name
		}
	}
	return paths
}

// rowOf returns the row of a package: its own, or the one of its parent folder.
func rowOf(pkg string) (string, bool) {
	if row, ok := allowedImports[pkg]; ok {
		return row, true
	}
	row, ok := allowedImports[path.Dir(pkg)+"/*"]
	return row, ok
}

// allows reports whether a row names the import, or a parent folder of it with /….
func allows(row, imported string) bool {
	return slices.ContainsFunc(strings.Fields(row), func(allowed string) bool { return matches(allowed, imported) })
}

func matches(pattern, name string) bool {
	dir, below := strings.CutSuffix(pattern, "/...")
	return name == dir || below && strings.HasPrefix(name, dir+"/")
}

func checkImports(tree sources) (violations []string) {
	tree.each(func(pkg string, s source) {
		row, ok := rowOf(pkg)
		if !ok {
			violations = append(violations, pkg+" has no row in arch_test.go")
			return
		}
		for _, imported := range slices.Sorted(maps.Keys(s.imports())) {
			if imported != module && !strings.HasPrefix(imported, module+"/") {
				continue
			}
			short := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
			if short == "" {
				short = "."
			}
			if !allows(row, short) {
				violations = append(violations, fmt.Sprintf("%s imports %s: its row in arch_test.go does not allow it (%s)", pkg, short, s.path))
			}
		}
	})
	return violations
}

// checkBinary reports the packages for tests and measurements that cmd/sluice links.
func checkBinary(tree sources) (violations []string) {
	linked := map[string]bool{}
	var visit func(pkg string)
	visit = func(pkg string) {
		if linked[pkg] {
			return
		}
		linked[pkg] = true
		for _, s := range tree[pkg] {
			if s.test {
				continue
			}
			for imported := range s.imports() {
				if short, ours := strings.CutPrefix(imported, module+"/"); ours {
					visit(short)
				}
			}
		}
	}
	visit("cmd/sluice")
	for _, pkg := range slices.Sorted(maps.Keys(linked)) {
		suite := slices.ContainsFunc(strings.Split(pkg, "/"), func(part string) bool { return strings.HasSuffix(part, "test") })
		if suite || pkg == "internal/bench" || strings.HasPrefix(pkg, "internal/tools/") {
			violations = append(violations, "cmd/sluice links "+pkg+": it serves tests or measurements only")
		}
	}
	return violations
}

func checkPurity(tree sources) (violations []string) {
	tree.each(func(pkg string, s source) {
		if pkg != "wire" && !strings.HasPrefix(pkg, "wire/") {
			return
		}
		imports := s.imports()
		for _, imported := range slices.Sorted(maps.Keys(imports)) {
			if slices.ContainsFunc(impureImports, func(p string) bool { return matches(p, imported) }) {
				violations = append(violations, fmt.Sprintf("%s imports %s: a protocol may only depend on events (%s)", pkg, imported, s.path))
			}
		}
		if imports["time"] == "." {
			violations = append(violations, pkg+" dot-imports time: uses of its clock cannot be detected")
		}
		for _, use := range s.uses("time", clockFuncs) {
			violations = append(violations, fmt.Sprintf("%s uses time.%s: frames take their times from the event", pkg, use))
		}
	})
	return violations
}

// uses returns those of the names of an imported package that the file uses.
func (s source) uses(imported string, names []string) (found []string) {
	local, ok := s.imports()[imported]
	if !ok {
		return nil
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == local && slices.Contains(names, sel.Sel.Name) {
				found = append(found, sel.Sel.Name)
			}
		}
		return true
	})
	return found
}

func checkSizes(tree sources) (violations []string) {
	mains := map[string]int{}
	tree.each(func(pkg string, s source) {
		if s.generated {
			return
		}
		if strings.HasPrefix(pkg, "cmd/") {
			mains[pkg] += s.lines
		}
		if s.lines > maxFile {
			violations = append(violations, fmt.Sprintf("%s: %d lines, the limit is %d", s.path, s.lines, maxFile))
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if lines := s.fset.Position(n.End()).Line - s.fset.Position(n.Pos()).Line + 1; lines > maxFunc {
					violations = append(violations, fmt.Sprintf("%s %s: %d lines, the limit is %d", s.path, n.Name.Name, lines, maxFunc))
				}
			case *ast.TypeSpec:
				if i, ok := n.Type.(*ast.InterfaceType); ok {
					if methods := tree.methods(pkg, i); methods > maxInterface {
						violations = append(violations, fmt.Sprintf("%s %s: %d methods, the limit is %d", s.path, n.Name.Name, methods, maxInterface))
					}
				}
			}
			return true
		})
	})
	for _, pkg := range slices.Sorted(maps.Keys(mains)) {
		if mains[pkg] > maxMain {
			violations = append(violations, fmt.Sprintf("%s: %d lines, the limit for a main package is %d", pkg, mains[pkg], maxMain))
		}
	}
	return violations
}

// methods counts the methods of an interface, including those of embedded interfaces of the same package. An embedded
// interface of another package counts as one.
func (tree sources) methods(pkg string, i *ast.InterfaceType) int {
	count := 0
	for _, m := range i.Methods.List {
		count += max(len(m.Names), 1)
		if id, ok := m.Type.(*ast.Ident); ok && len(m.Names) == 0 {
			if inner := tree.find(pkg, id.Name); inner != nil {
				count += tree.methods(pkg, inner) - 1
			}
		}
	}
	return count
}

// find returns the interface with the given name in the package, or nil.
func (tree sources) find(pkg, name string) (found *ast.InterfaceType) {
	for _, s := range tree[pkg] {
		for _, decl := range s.ast.Decls {
			if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.TYPE {
				for _, spec := range gen.Specs {
					if ts := spec.(*ast.TypeSpec); ts.Name.Name == name {
						found, _ = ts.Type.(*ast.InterfaceType)
					}
				}
			}
		}
	}
	return found
}

func checkPackages(tree sources) (violations []string) {
	commented, seen := map[string]bool{}, map[string]bool{}
	tree.each(func(pkg string, s source) {
		commented[pkg] = commented[pkg] || s.ast.Doc.Text() != ""
		if seen[pkg] {
			return
		}
		seen[pkg] = true
		for _, name := range []string{s.ast.Name.Name, path.Base(pkg)} {
			if slices.Contains(badNames, name) {
				violations = append(violations, fmt.Sprintf("%s is named %s: the name does not say what the package is for", pkg, name))
				break
			}
		}
	})
	for _, pkg := range slices.Sorted(maps.Keys(commented)) {
		if !commented[pkg] {
			violations = append(violations, pkg+" has no package comment")
		}
	}
	return violations
}

func checkDocs(tree sources) (violations []string) {
	tree.each(func(pkg string, s source) {
		if s.generated || s.ast.Name.Name == "main" {
			return
		}
		report := func(name string) {
			violations = append(violations, fmt.Sprintf("%s %s: exported without a comment", s.path, name))
		}
		for _, decl := range s.ast.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Name.IsExported() && decl.Doc.Text() == "" && receiverExported(decl) {
					report(decl.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					if name, commented := specDoc(spec); !commented && decl.Doc.Text() == "" {
						report(name)
					}
				}
			}
		}
	})
	return violations
}

// receiverExported reports whether f is a function or a method of an exported type.
func receiverExported(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	t := f.Recv.List[0].Type
	for {
		switch inner := t.(type) {
		case *ast.StarExpr:
			t = inner.X
		case *ast.IndexExpr:
			t = inner.X
		case *ast.IndexListExpr:
			t = inner.X
		default:
			id, ok := t.(*ast.Ident)
			return ok && id.IsExported()
		}
	}
}

// specDoc returns the exported name that a type, constant or variable declares, and whether it needs no comment on its group.
func specDoc(spec ast.Spec) (name string, commented bool) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		return spec.Name.Name, !spec.Name.IsExported() || spec.Doc.Text()+spec.Comment.Text() != ""
	case *ast.ValueSpec:
		i := slices.IndexFunc(spec.Names, (*ast.Ident).IsExported)
		if i < 0 {
			return "", true
		}
		return spec.Names[i].Name, spec.Doc.Text()+spec.Comment.Text() != ""
	}
	return "", true
}

// checkSleeps checks that tests wait for a condition instead of sleeping. Time in a synctest bubble is not real, so sleeping there is allowed.
func checkSleeps(tree sources) (violations []string) {
	for _, pkg := range slices.Sorted(maps.Keys(tree)) {
		for _, s := range tree[pkg] {
			_, bubble := s.imports()["testing/synctest"]
			if s.test && !bubble && len(s.uses("time", []string{"Sleep"})) > 0 {
				violations = append(violations, s.path+" sleeps: wait for a condition, or use testing/synctest")
			}
		}
	}
	return violations
}

// TestRulesDetectViolations breaks each rule once in a small tree.
func TestRulesDetectViolations(t *testing.T) {
	t.Parallel()
	long := "// Package p is.\npackage p\n" + strings.Repeat("\n", maxFile)
	body := strings.Repeat("\t_ = 0\n", maxFunc)
	clean := fstest.MapFS{
		"event/e.go": {Data: []byte("// Package event is.\npackage event\n\nimport _ \"" + module + "/fault\"\n\n// E is.\ntype E interface{ A() }\n")},
		"fault/f.go": {Data: []byte("// Package fault is.\npackage fault\n")},
	}
	for name, tc := range map[string]struct{ path, text, want string }{
		"import":            {"event/x.go", "package event\nimport _ \"" + module + "/wire\"\n", "event imports wire"},
		"import of root":    {"event/x.go", "package event\nimport _ \"" + module + "\"\n", "event imports ."},
		"back end":          {"server/x.go", "// Package server is.\npackage server\nimport _ \"" + module + "/index/embedded\"\n", "server imports index/embedded"},
		"protocol":          {"wire/forge/x.go", "// Package forge is.\npackage forge\nimport _ \"" + module + "/wire/turns\"\n", "wire/forge imports wire/turns"},
		"test in binary":    {"cmd/sluice/x.go", "// Sluice is.\npackage main\nimport _ \"" + module + "/internal/bench\"\n", "cmd/sluice links internal/bench"},
		"no row":            {"nowhere/x.go", "// Package nowhere is.\npackage nowhere\n", "nowhere has no row"},
		"context":           {"wire/forge/x.go", "// Package forge is.\npackage forge\nimport _ \"context\"\n", "wire/forge imports context"},
		"net/http":          {"wire/x.go", "// Package wire is.\npackage wire\nimport _ \"net/http\"\n", "wire imports net/http"},
		"clock":             {"wire/forge/x.go", "// Package forge is.\npackage forge\nimport clock \"time\"\nvar now = clock.Now\n", "wire/forge uses time.Now"},
		"clock by a dot":    {"wire/forge/x.go", "// Package forge is.\npackage forge\nimport . \"time\"\nvar now = Now\n", "wire/forge dot-imports time"},
		"long file":         {"event/x.go", long, "event/x.go: 602 lines"},
		"long function":     {"event/x.go", "package event\nfunc f() {\n" + body + "}\n", "event/x.go f: 82 lines"},
		"long method":       {"event/x.go", "package event\ntype t int\nfunc (t) f() {\n" + body + "}\n", "event/x.go f: 82 lines"},
		"wide interface":    {"event/x.go", "package event\ntype i interface { a(); b(); c(); d(); e(); f(); g() }\n", "event/x.go i: 7 methods"},
		"embedded":          {"event/x.go", "package event\ntype i interface { j; d(); e(); f() }\ntype j interface { a(); b(); c(); k() }\n", "event/x.go i: 7 methods"},
		"large main":        {"cmd/sluice/x.go", "// Sluice is.\npackage main\n" + strings.Repeat("\n", maxMain), "cmd/sluice: 42 lines"},
		"package comment":   {"corpus/x.go", "package corpus\n", "corpus has no package comment"},
		"package name":      {"internal/tools/util/x.go", "// Package util is.\npackage util\n", "internal/tools/util is named util"},
		"function comment":  {"event/x.go", "package event\nfunc F() {}\n", "event/x.go F: exported"},
		"method comment":    {"event/x.go", "package event\n\n// T is.\ntype T[P any] int\n\nfunc (*T[P]) M() {}\n", "event/x.go M: exported"},
		"type comment":      {"event/x.go", "package event\ntype T int\n", "event/x.go T: exported"},
		"constant comment":  {"event/x.go", "package event\nconst C = 1\n", "event/x.go C: exported"},
		"sleep":             {"event/x_test.go", "package event_test\nimport \"time\"\nfunc f() { time.Sleep(1) }\n", "event/x_test.go sleeps"},
		"nothing":           {"event/x.go", "package event\n\n// C is.\nconst C = 1\n\nfunc (t) M() {}\n\ntype t int\n", ""},
		"test imports":      {"event/x_test.go", "package event_test\nimport _ \"" + module + "/index/embedded\"\n", ""},
		"generated":         {"event/x.go", "// Code generated by x. DO NOT EDIT.\n\npackage event\nfunc F() {\n" + body + "}\n", ""},
		"testdata":          {"event/testdata/x.go", "no go at all", ""},
		"sleep in a bubble": {"event/x_test.go", "package event_test\nimport (\"time\"; \"testing/synctest\")\nfunc f() { synctest.Wait(); time.Sleep(1) }\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			broken := maps.Clone(clean)
			broken[tc.path] = &fstest.MapFile{Data: []byte(tc.text)}
			tree, err := parseTree(broken)
			require.NoError(t, err)
			var all []string
			for _, rule := range rules {
				all = append(all, rule.check(tree)...)
			}
			switch {
			case tc.want == "" && len(all) > 0:
				t.Errorf("unexpected violations:\n%s", strings.Join(all, "\n"))
			case tc.want != "" && !slices.ContainsFunc(all, func(c string) bool { return strings.HasPrefix(c, tc.want) }):
				t.Errorf("no violation %q in:\n%s", tc.want, strings.Join(all, "\n"))
			}
		})
	}
}
