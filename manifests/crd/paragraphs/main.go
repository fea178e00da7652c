// paragraphs removes the line breaks of Go's comments from the descriptions in manifests/crd:
// `kubectl explain` keeps them, and wraps each line again.
//
// Run it as `make generate` does, in its folder, after controller-gen.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	files, err := filepath.Glob(filepath.Join("..", "kubectl-upgrade.dev_*.yaml"))
	for _, file := range files {
		if err == nil {
			err = rewrite(file)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "paragraphs:", err)
		os.Exit(1)
	}
}

func rewrite(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(join(string(text))), 0o644) //nolint:gosec // a manifest of the checkout, for all to read
}
