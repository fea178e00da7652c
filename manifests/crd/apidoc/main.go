// apidoc writes docs/api.md: api.md.tmpl with a table of each kind's fields,
// taken from manifests/crd, so that page and API server cannot differ.
//
// Run it as `make generate` does, in its folder.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := filepath.Join("..", "..", "..")
	if err := write(root); err != nil {
		fmt.Fprintln(os.Stderr, "apidoc:", err)
		os.Exit(1)
	}
}

func write(root string) error {
	page, err := generate(root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "docs", "api.md"), page, 0o644) //nolint:gosec // a page of the checkout, for all to read
}
