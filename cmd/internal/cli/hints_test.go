package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// dynamic stands in a folded text for what is known only when the program runs.
const dynamic = "NAME"

// foldText is the text of an expression that joins strings, with dynamic for what is no constant; ok is false
// for one that holds no text at all.
func foldText(x ast.Expr) (text string, ok bool) {
	switch x := x.(type) {
	case *ast.BasicLit:
		if x.Kind != token.STRING {
			return dynamic, false
		}
		text, err := strconv.Unquote(x.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		if x.Op != token.ADD {
			return dynamic, false
		}
		left, isLeft := foldText(x.X)
		right, isRight := foldText(x.Y)
		return left + right, isLeft || isRight
	case *ast.ParenExpr:
		return foldText(x.X)
	}
	return dynamic, false
}

// programFiles calls f for each file of the program's own code.
func programFiles(t *testing.T, f func(file *ast.File, at func(ast.Node) string)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(top), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case "testdata", "e2e", "bench", "tools", "examples", "node_modules", ".git":
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join(top, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		f(file, func(n ast.Node) string { return name + ":" + strconv.Itoa(set.Position(n.Pos()).Line) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// programTexts calls f for each text in the program's own code, joined as the program joins it.
func programTexts(t *testing.T, f func(at, text string)) {
	t.Helper()
	programFiles(t, func(file *ast.File, at func(ast.Node) string) {
		ast.Inspect(file, func(n ast.Node) bool {
			x, is := n.(ast.Expr)
			if !is {
				return true
			}
			text, ok := foldText(x)
			if ok {
				f(at(x), text)
			}
			return !ok // its parts were joined
		})
	})
}

// formatted is what a format string leaves open: a verb of package fmt.
var formatted = regexp.MustCompile(`%(\[\d+\])?[+#]?[a-z]`)

// quotedCommand is a command line of ours between quotes, up to its end.
var quotedCommand = regexp.MustCompile(`'((?:hallmark-registry|hallmark|mcp-publisher|hashfile-mcp) [^'\n]+)'`)

// Each command line that a text of the program names between quotes, hints above all, is one that its program takes:
// the command is there, and so is each flag, also where the text is put together of several. What it leaves open is
// taken for a name.
func TestHintsAreCommands(t *testing.T) {
	found := 0
	programTexts(t, func(at, text string) {
		for _, m := range quotedCommand.FindAllStringSubmatch(formatted.ReplaceAllString(text, dynamic), -1) {
			line := strings.TrimSuffix(strings.TrimRight(m[1], " "), "...")
			if strings.ContainsAny(line, "|…") {
				continue
			}
			found++
			namesCommand(t, at, line)
		}
	})
	if found < 150 {
		t.Errorf("%d command lines were found", found)
	}
}

// aFlag is a flag that a text names, wherever it stands.
var aFlag = regexp.MustCompile(`(?:^|[ ('"])(--[a-z][a-z0-9-]+)`)

// foreignFlags are flags of other programs, which our texts are about.
var foreignFlags = map[string]bool{"--option": true}

// A hint names only flags that some command has.
func TestHintsNameFlags(t *testing.T) {
	known := map[string]bool{}
	for _, define := range programs {
		each(define(), func(c *cobra.Command) {
			c.InitDefaultHelpFlag()
			c.InitDefaultVersionFlag()
			c.Flags().VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = true })
		})
	}
	found := 0
	eachHint(t, func(at, text string) {
		for _, m := range aFlag.FindAllStringSubmatch(text, -1) {
			found++
			if !known[m[1]] && !foreignFlags[m[1]] {
				t.Errorf("%s: no command has %s: %s", at, m[1], text)
			}
		}
	})
	if found < 15 {
		t.Errorf("%d flags were found", found)
	}
}

// eachHint calls f for each hint that is written where it is given: a member Hint, Fix or next, the third argument of
// evidence.Errorf, or a hint of package policy.
func eachHint(t *testing.T, f func(at, text string)) {
	t.Helper()
	programFiles(t, func(file *ast.File, at func(ast.Node) string) {
		hint := func(x ast.Expr) {
			if call, is := x.(*ast.CallExpr); is && len(call.Args) > 0 { // fmt.Sprintf
				x = call.Args[0]
			}
			if text, ok := foldText(x); ok && text != "" {
				f(at(x), formatted.ReplaceAllString(text, dynamic))
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, is := n.Key.(*ast.Ident); is && (key.Name == "Hint" || key.Name == "Fix" || key.Name == "next") {
					hint(n.Value)
				}
			case *ast.CallExpr:
				switch to := n.Fun.(type) {
				case *ast.SelectorExpr:
					if to.Sel.Name == "Errorf" && len(n.Args) == 4 {
						hint(n.Args[2])
					}
				case *ast.Ident: // of package policy
					if to.Name == "always" && len(n.Args) == 1 || to.Name == "on" && len(n.Args) == 2 {
						hint(n.Args[len(n.Args)-1])
					}
				}
			}
			return true
		})
	})
}
