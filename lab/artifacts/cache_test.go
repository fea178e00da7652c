package artifacts

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func openCache(t *testing.T, report Reporter) *Cache {
	t.Helper()
	c, err := Open(filepath.Join(t.TempDir(), "cache"), report)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestObtainBuildsOnce(t *testing.T) {
	var steps []string
	c := openCache(t, func(step string) Step { steps = append(steps, step); return Silent(step) })
	built := 0
	one := artifact{name: "a", recipe: []string{"r"}, step: "making a", build: func(dir string) error {
		built++
		return os.WriteFile(filepath.Join(dir, "file"), nil, 0o644)
	}}
	first, err := c.obtain(one)
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.obtain(one)
	if err != nil || first != second || built != 1 || len(steps) != 1 {
		t.Errorf("got %s and %s (%v), %d builds, steps %v; want one folder, one build, one step", first, second, err, built, steps)
	}
	one.recipe = []string{"another"}
	if third, err := c.obtain(one); err != nil || third == first || built != 2 {
		t.Errorf("a changed recipe gave %s (%v) after %d builds, want a new folder", third, err, built)
	}
}

func TestObtainTrustsNothingHalfDone(t *testing.T) {
	c := openCache(t, nil)
	broken := errors.New("broken")
	fail := true
	one := artifact{name: "a", step: "making a", build: func(dir string) error {
		if _, err := os.Stat(filepath.Join(dir, "half")); err == nil {
			t.Error("the second build sees what the first left")
		}
		if err := os.WriteFile(filepath.Join(dir, "half"), nil, 0o644); err != nil {
			return err
		}
		if fail {
			return broken
		}
		return nil
	}}
	if _, err := c.obtain(one); !errors.Is(err, broken) {
		t.Fatalf("error is %v, want the build's", err)
	}
	killed := filepath.Join(c.Dir, ".partial-"+one.folder()+"-1")
	write(t, killed, "half", "")
	fail = false
	if _, err := c.obtain(one); err != nil {
		t.Errorf("the build after a failed one: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(c.Dir, ".partial-*")); err != nil || len(left) != 0 {
		t.Errorf("killed and failed runs left %v (%v)", left, err)
	}
}

func TestObtainAtTheSameTime(t *testing.T) {
	first := openCache(t, nil)
	second, err := Open(first.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var building, builds atomic.Int32
	one := artifact{name: "a", build: func(string) error {
		builds.Add(1)
		if building.Add(1) > 1 {
			t.Error("two builds of one artifact at once")
		}
		defer building.Add(-1)
		return nil
	}}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := []*Cache{first, second}[i%2].obtain(one); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if builds.Load() != 1 {
		t.Errorf("%d builds, want 1", builds.Load())
	}
}
