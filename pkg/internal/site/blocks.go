package main

import (
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// blocks renders blocks of code.
type blocks struct{}

func (blocks) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			info := ""
			if block := n.(*ast.FencedCodeBlock); block.Info != nil {
				info = string(block.Info.Segment.Value(source))
			}
			_, _ = w.WriteString(code(info, string(n.Lines().Value(source))))
		}
		return ast.WalkContinue, nil
	})
	register.Register(ast.KindCodeBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString(code("", string(n.Lines().Value(source))))
		}
		return ast.WalkContinue, nil
	})
}

// code returns a block with its language and marks, as CONTRIBUTING.md defines them.
func code(info, text string) string {
	language, marks, _ := strings.Cut(info, " ")
	lines := strings.SplitAfter(html.EscapeString(text), "\n")
	if language == "console" {
		for i, line := range lines {
			lines[i] = typed(line)
		}
	}
	block := `<pre tabindex="0"><code>` + strings.Join(lines, "") + "</code></pre>\n"
	if language == "sh" && marks == "" || marks == "run" {
		return "<figure>" + block + "<figcaption>A test runs these commands.</figcaption></figure>\n"
	}
	return block
}

// typed marks what a person types after a prompt; the prompt itself is not copied.
func typed(line string) string {
	for _, prompt := range []string{"$ ", "# "} {
		if command, ok := strings.CutPrefix(line, prompt); ok {
			command, end := strings.TrimSuffix(command, "\n"), "\n"
			return `<span class="prompt">` + prompt + "</span><b>" + command + "</b>" + end
		}
	}
	return line
}
