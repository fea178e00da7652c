package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestJoin(t *testing.T) {
	const from = `a:
  description: |-
    One sentence that
    goes on.

    - a list
    - of two
      lines

    The end
    of it.
  type: string
b:
  description: one line
  enum:
  - x
  - y
`
	const want = `a:
  description: |-
    One sentence that goes on.

    - a list
    - of two
      lines

    The end of it.
  type: string
b:
  description: one line
  enum:
  - x
  - y
`
	if got := join(from); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := join(want); got != want {
		t.Errorf("a second time it changes to:\n%s", got)
	}
}

// TestDescriptionsAreParagraphs checks that the manifests are as `make generate` writes them.
func TestDescriptionsAreParagraphs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "kubectl-upgrade.dev_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files, error %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if join(string(text)) != string(text) {
			t.Errorf("%s: a paragraph has line breaks; `make generate` removes them", file)
		}
	}
}
