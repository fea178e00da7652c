package serve

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

func indexFile(stateDir string) string { return filepath.Join(stateDir, "images.index") }
func downFile(stateDir string) string  { return filepath.Join(stateDir, "images.down") }

func signatureFile(stateDir string) string { return filepath.Join(stateDir, "images.signature") }

// Index serves raw as SHA256SUMS instead of the list of offers, even when it
// is empty. ResetIndex ends that.
func Index(stateDir, raw string) error {
	if err := set(indexFile(stateDir), raw); err != nil {
		return fmt.Errorf("setting the index: %w", err)
	}
	return nil
}

// ResetIndex serves the list of offers again.
func ResetIndex(stateDir string) error {
	if err := unset(indexFile(stateDir)); err != nil {
		return fmt.Errorf("resetting the index: %w", err)
	}
	return nil
}

// Down makes the image server answer 503 to everything, until it is called
// with false.
func Down(stateDir string, down bool) error {
	change := unset
	if down {
		change = func(name string) error { return set(name, "") }
	}
	if err := change(downFile(stateDir)); err != nil {
		return fmt.Errorf("switching the image server: %w", err)
	}
	return nil
}

// Sign serves text as SHA256SUMS.gpg. With an empty text there is none.
func Sign(stateDir, text string) error {
	change := unset
	if text != "" {
		change = func(name string) error { return set(name, text) }
	}
	if err := change(signatureFile(stateDir)); err != nil {
		return fmt.Errorf("setting the signature of the index: %w", err)
	}
	return nil
}

func set(name, content string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return renameio.WriteFile(name, []byte(content), 0o644)
}

func unset(name string) error {
	if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}
