package cli_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// command is a function of the package that makes a command.
type command struct {
	file             string
	lines            int // of the file
	makes            *ast.FuncDecl
	isGroup, inOrder bool
}

// TestOrderOfVerbs checks that the verbs of the ten longest files run in the one order, and that the file
// of each that does has its parts in that order.
func TestOrderOfVerbs(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	at := map[string]token.Position{} // of types and methods
	var commands []command
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			note(at, d, set)
			if f, is := d.(*ast.FuncDecl); is && f.Recv == nil && strings.HasPrefix(f.Name.Name, "new") && calls(f, "AddCommand", "RunE:") {
				commands = append(commands, command{name, set.File(f.Pos()).LineCount(), f, calls(f, "AddCommand"), calls(f, "inOrder")})
			}
		}
	}
	slices.SortStableFunc(commands, func(a, b command) int { return cmp.Compare(b.lines, a.lines) })
	longest := map[string]bool{}
	for _, c := range commands {
		if !c.isGroup && len(longest) < 10 {
			longest[c.file] = true
		}
		if longest[c.file] && !c.isGroup && !c.inOrder {
			t.Errorf("%s: the verb does not run inOrder", set.Position(c.makes.Pos()))
		}
		if of := typeOf(c.makes); c.inOrder && of != "apply" || c.makes.Name.Name == "newApply" { // rollback and reboot are an apply
			checkOrder(t, c, at, set, of)
		}
	}
	if len(longest) != 10 {
		t.Errorf("found verbs in %d files only", len(longest))
	}
}

// checkOrder checks the order of a verb's parts: options, constructor, validate, complete, run.
func checkOrder(t *testing.T, c command, at map[string]token.Position, set *token.FileSet, of string) {
	parts := []token.Position{at[of], set.Position(c.makes.Pos()), at[of+".validate"], at[of+".complete"], at[of+".run"]}
	for i, p := range parts {
		if p.Filename != c.file || i > 0 && p.Line < parts[i-1].Line {
			t.Errorf("%s: the parts of verb %s are not in the order options, constructor, validate, complete, run in one file: %v", c.file, of, parts)
			return
		}
	}
}

// note notes where a type or method is declared.
func note(at map[string]token.Position, d ast.Decl, set *token.FileSet) {
	switch d := d.(type) {
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if s, is := s.(*ast.TypeSpec); is {
				at[s.Name.Name] = set.Position(s.Pos())
			}
		}
	case *ast.FuncDecl:
		if d.Recv != nil {
			of := d.Recv.List[0].Type
			if pointer, is := of.(*ast.StarExpr); is {
				of = pointer.X
			}
			at[of.(*ast.Ident).Name+"."+d.Name.Name] = set.Position(d.Pos())
		}
	}
}

// calls reports whether the function calls one of these, or sets such a field.
func calls(f *ast.FuncDecl, names ...string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		name := ""
		switch n := n.(type) {
		case *ast.CallExpr:
			switch called := n.Fun.(type) {
			case *ast.Ident:
				name = called.Name
			case *ast.SelectorExpr:
				name = called.Sel.Name
			}
		case *ast.KeyValueExpr:
			if key, is := n.Key.(*ast.Ident); is {
				name = key.Name + ":"
			}
		}
		found = found || slices.Contains(names, name)
		return true
	})
	return found
}

// typeOf returns the type of the options, which the constructor makes first.
func typeOf(f *ast.FuncDecl) (name string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if made, is := n.(*ast.CompositeLit); is && name == "" {
			if of, is := made.Type.(*ast.Ident); is {
				name = of.Name
			}
		}
		return true
	})
	return name
}
