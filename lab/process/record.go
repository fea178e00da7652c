package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/google/renameio/v2"
)

// Save records a process, so that others can find it with Load.
func Save(path string, id ID) error {
	data, err := json.Marshal(id)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("recording a process: %w", err)
	}
	return nil
}

// Load reads what Save wrote. Without a record, or with one whose process has
// ended, running is false.
func Load(path string) (id ID, running bool, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return ID{}, false, nil
	}
	if err != nil {
		return ID{}, false, fmt.Errorf("reading a process record: %w", err)
	}
	if err := json.Unmarshal(data, &id); err != nil {
		return ID{}, false, fmt.Errorf("reading the process record %s: %w", path, err)
	}
	return id, id.Alive(), nil
}
