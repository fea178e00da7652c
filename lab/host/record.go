package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/google/renameio/v2"
)

// Record is a file with the names of what a lab has changed on this machine. A name is
// added before the change is made.
type Record string

// Add adds a name, if it is not there.
func (r Record) Add(name string) error {
	names, err := r.Names()
	if err != nil || slices.Contains(names, name) {
		return err
	}
	data, err := json.Marshal(append(names, name))
	if err != nil {
		return err
	}
	return renameio.WriteFile(string(r), data, 0o644)
}

// Names returns all names. Without a file there are none.
func (r Record) Names() (names []string, err error) {
	data, err := os.ReadFile(string(r))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &names)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what the lab has changed on this machine: %w", err)
	}
	return names, nil
}

// Remove removes the file, once all is undone.
func (r Record) Remove() error {
	if err := os.Remove(string(r)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
