// Package artifacts makes everything that a lab is built from, once: a later
// run finds it in the cache. What lies in the cache under its name is
// complete; a run that was killed leaves no artifact under its name.
//
// An artifact's name carries a hash of the recipe that made it, so a changed
// recipe makes a new artifact and never meets an old one.
package artifacts

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Cache is a folder of finished artifacts. Several processes may share one.
type Cache struct {
	Dir    string
	Report Reporter
	// Origin is where published versions are downloaded from, instead of compiling them.
	Origin Origin

	mu      sync.Mutex
	used    map[string]bool
	running Step // nil between steps
}

// Used returns the folders of all artifacts that this Cache was asked for: with the same
// ones at the same path, another machine has the same cache.
func (c *Cache) Used() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.used))
}

func (c *Cache) note(folder string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used == nil {
		c.used = map[string]bool{}
	}
	c.used[folder] = true
}

// Open makes the folder if there is none. A nil report is silent.
func Open(dir string, report Reporter) (*Cache, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the cache %q: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("opening the cache: %w", err)
	}
	if report == nil {
		report = Silent
	}
	return &Cache{Dir: dir, Report: report}, nil
}

// artifact says what to make. recipe is everything that the result depends
// on; build fills dir, which exists and is empty.
type artifact struct {
	name   string
	recipe []string
	step   string
	build  func(dir string) error
}

func (a artifact) folder() string {
	sum := sha256.Sum256([]byte(strings.Join(a.recipe, "\x00")))
	return fmt.Sprintf("%s-%x", a.name, sum[:4])
}

// obtain returns the artifact's folder, and builds it if it is not there.
func (c *Cache) obtain(a artifact) (string, error) {
	done := filepath.Join(c.Dir, a.folder())
	c.note(done)
	if _, err := os.Stat(done); err == nil {
		return done, nil
	}
	unlock, err := c.lock(a.folder())
	if err != nil {
		return "", fmt.Errorf("%s: %w", a.step, err)
	}
	defer unlock()
	if _, err := os.Stat(done); err == nil {
		return done, nil
	}
	err = c.step(a.step, func() error { return c.build(a, done) })
	if err != nil {
		return "", fmt.Errorf("%s: %w", a.step, err)
	}
	return done, nil
}

// build works in a folder with another name, so that done is all or nothing.
func (c *Cache) build(a artifact, done string) error {
	pattern := ".partial-" + a.folder() + "-"
	c.removeLeftovers(pattern)
	partial, err := os.MkdirTemp(c.Dir, pattern)
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial)
	if err := os.Chmod(partial, 0o755); err != nil {
		return err
	}
	if err := a.build(partial); err != nil {
		return err
	}
	return os.Rename(partial, done)
}

// removeLeftovers removes files of killed runs: this process holds the lock, so they
// are not in use. It returns no error, because only disk space depends on it.
func (c *Cache) removeLeftovers(pattern string) {
	left, _ := filepath.Glob(filepath.Join(c.Dir, pattern+"*"))
	for _, folder := range left {
		os.RemoveAll(folder)
	}
}

// lock keeps other processes from making the same artifact. The kernel frees
// it when this process ends, however it ends.
func (c *Cache) lock(folder string) (unlock func(), err error) {
	dir := filepath.Join(c.Dir, "lock")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, folder), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
