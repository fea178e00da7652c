package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// build writes the files to a checkout, and the website of it.
func build(t *testing.T, files map[string]string) (out string, err error) {
	t.Helper()
	root, out := t.TempDir(), t.TempDir()
	for name, text := range files {
		if err := writeFile(root, name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return out, run(root, out, "v1.0.0")
}

const indexPage = "# Which page\n\n## Start\n| question | page |\n| --- | --- |\n| How do I begin? | [begin](begin.md#first) |\n"

// good is a checkout with a link of each sort.
func good() map[string]string {
	return map[string]string{
		"README.md":        "# Title\n\n[index](docs/README.md), [files](files), [script](.ci/run), [elsewhere](https://example.com), [down](#below)\n\n## Below\n",
		"docs/README.md":   indexPage,
		"docs/begin.md":    "# Begin\n\n![A picture](picture.png) [home](../README.md#below)\n\n## First\n\n```sh\n# NAME\nls <x>\n```\n\n```console\n$ ls\nfile\n```\n\n| a | |\n| --- | --- |\n| b | c |\n",
		"docs/picture.png": "png",
		"files/x.yaml":     "a: <b>\n",
		".ci/run":          "#!/bin/sh\n",
	}
}

func TestSite(t *testing.T) {
	out, err := build(t, good())
	if err != nil {
		t.Fatal(err)
	}
	for file, texts := range map[string][]string{
		"index.html":               {`url=v1.0.0/index.html`},
		"versions.html":            {`<a href="v1.0.0/index.html">v1.0.0</a>`},
		"v1.0.0/index.html":        {`<a href="docs/index.html">index</a>`, `<a href="files.html">`, `<a href="ci/run.html">`, `<a href="https://example.com">`, `<h2 id="below">`, `<h2>Start</h2>`, `<li><a href="docs/begin.html">Begin</a></li>`, ">v1.0.0</a>"},
		"v1.0.0/docs/begin.html":   {`<img src="picture.png" alt="A picture">`, `<a href="../index.html#below">`, "<figcaption>A test runs these commands.</figcaption>", "ls &lt;x&gt;", `<span class="prompt">$ </span><b>ls</b>`, `<div class="wide" tabindex="0"><table>`, "<th>a</th>\n<td></td>", `<a href="begin.html" aria-current="page">`, `href="../../versions.html"`},
		"v1.0.0/docs/picture.png":  {"png"},
		"v1.0.0/files/x.yaml.html": {"a: &lt;b&gt;"},
		"v1.0.0/index.js":          {`{"t":"How do I begin?","u":"docs/begin.html#first"}`, `{"t":"Begin","h":"First","u":"docs/begin.html#first","x":"`},
	} {
		text, err := os.ReadFile(filepath.Join(out, file))
		if err != nil {
			t.Error(err)
		}
		for _, want := range texts {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %q:\n%s", file, want, text)
			}
		}
	}
}

// TestRepository builds the website of this checkout.
func TestRepository(t *testing.T) {
	out := t.TempDir()
	if err := run("../../..", out, "v0.0.0"); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"docs/commands.html", "docs/api.html", "docs/reference.html", "docs/runbooks.html", "lab/index.html"} {
		if _, err := os.Stat(filepath.Join(out, "v0.0.0", page)); err != nil {
			t.Error(err)
		}
	}
}

func TestMistakesAreFound(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"missing file":    {"docs/begin.md", "# Begin\n[x](gone.md)\n\n## First", "docs/begin.md links to gone.md"},
		"missing heading": {"docs/begin.md", "# Begin\n[x](../README.md#gone)\n\n## First", "docs/begin.html links to ../index.html#gone: the page has no such heading"},
		"heading in code": {"docs/begin.md", "# Begin\n[x](#code)\n```\n# code\n```\n\n## First", "links to #code: the page has no such heading"},
		"outside":         {"docs/begin.md", "# Begin\n[x](../../other.md)\n\n## First", "is outside of the repository"},
		"placeholder":     {"docs/begin.md", "# Begin\nthe <name> of\n\n## First", "docs/begin.md has HTML, or a placeholder without backquotes"},
	} {
		t.Run(name, func(t *testing.T) {
			files := good()
			files[c.file] = c.text
			if _, err := build(t, files); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestVersions checks that a version stays when another one is built, and which one visitors see.
func TestVersions(t *testing.T) {
	out, err := build(t, good())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"v1.10.0", "v1.9.0", "v2.0.0-rc.1"} {
		if err := writeFile(out, filepath.Join(dir, "site.css"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeVersions(out, "v1.0.0"); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(out, "versions.html"))
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{"v2.0.0-rc.1/", "v1.10.0/", "v1.9.0/", "v1.0.0/"} {
		i := strings.Index(string(list[at:]), `<a href="`+want)
		if i < 0 {
			t.Fatalf("%s is missing, or not in order:\n%s", want, list)
		}
		at += i
	}
	redirect, err := os.ReadFile(filepath.Join(out, "index.html"))
	if err != nil || !strings.Contains(string(redirect), "url=v1.10.0/index.html") {
		t.Errorf("visitors are not led to v1.10.0: %s %v", redirect, err)
	}
}

// TestAnchors checks names against those that GitHub makes.
func TestAnchors(t *testing.T) {
	names := anchors{}
	for _, c := range [][2]string{
		{"The gate", "the-gate"},
		{"NodeNotBack: a node does not come back", "nodenotback-a-node-does-not-come-back"},
		{"spec.source", "specsource"},
		{"One command — for a minor", "one-command--for-a-minor"},
		{"The gate", "the-gate-1"},
	} {
		if got := names.unique(c[0]); got != c[1] {
			t.Errorf("%q: got %q, want %q", c[0], got, c[1])
		}
	}
}
