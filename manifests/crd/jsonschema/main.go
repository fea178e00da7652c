// jsonschema writes a JSON schema of each kind into manifests/jsonschema, for editors and for programs such as
// kubeconform that check files without a cluster.
//
// Run it as `make generate` does, in its folder, after controller-gen.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := write(filepath.Join("..", "..", "jsonschema")); err != nil {
		fmt.Fprintln(os.Stderr, "jsonschema:", err)
		os.Exit(1)
	}
}

// write writes the schemas into a folder, by the names that kubeconform's -schema-location asks for.
func write(folder string) error {
	definitions, err := filepath.Glob(filepath.Join("..", "kubectl-upgrade.dev_*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range definitions {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		schemas, err := schemasOf(text)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for name, schema := range schemas {
			if err := os.WriteFile(filepath.Join(folder, name), schema, 0o644); err != nil { //nolint:gosec // for all to read
				return err
			}
		}
	}
	return nil
}
