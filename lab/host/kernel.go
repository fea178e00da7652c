package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// settings are settings of the kernel that nodes share with their host. A kubelet
// checks the first six when it starts and tries to correct them, which fails on a
// node of the lab. Several systemds and their pods need more of inotify than
// one machine.
var settings = map[string]string{
	"vm/overcommit_memory":          "1",
	"vm/panic_on_oom":               "0",
	"kernel/panic":                  "10",
	"kernel/panic_on_oops":          "1",
	"kernel/keys/root_maxkeys":      "1000000",
	"kernel/keys/root_maxbytes":     "25000000",
	"fs/inotify/max_user_instances": "8192",
	"fs/inotify/max_user_watches":   "1048576",
}

// Tune sets the kernel up for nodes. What it finds is recorded first, and only
// once: a second Tune does not take its own settings for the machine's.
func Tune(record string) error { return tune("/proc/sys", record) }

// Restore undoes Tune. Without a record there is nothing to undo.
func Restore(record string) error { return restore("/proc/sys", record) }

func tune(root, record string) error {
	if _, err := os.Stat(record); errors.Is(err, os.ErrNotExist) {
		if err := remember(root, record); err != nil {
			return fmt.Errorf("recording kernel settings: %w", err)
		}
	}
	return apply(root, settings)
}

func remember(root, record string) error {
	found := map[string]string{}
	for name := range settings {
		value, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		found[name] = strings.TrimSpace(string(value))
	}
	data, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		return err
	}
	return renameio.WriteFile(record, data, 0o644)
}

func restore(root, record string) error {
	data, err := os.ReadFile(record)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("restoring kernel settings: %w", err)
	}
	var found map[string]string
	if err := json.Unmarshal(data, &found); err != nil {
		return fmt.Errorf("restoring kernel settings from %s: %w", record, err)
	}
	if err := apply(root, found); err != nil {
		return err
	}
	return os.Remove(record)
}

// apply skips settings that this kernel does not have.
func apply(root string, values map[string]string) error {
	for name, value := range values {
		path := filepath.Join(root, name)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
			return fmt.Errorf("setting %s: %w", strings.ReplaceAll(name, "/", "."), err)
		}
	}
	return nil
}
