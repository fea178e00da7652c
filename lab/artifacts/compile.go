package artifacts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// linkCost is how long linking one program takes, as the size of sources that compile in
// that time.
const linkCost = 1 << 20

// compilation is the progress of one `go build -v`, which prints the name of a package
// when it begins to compile it.
type compilation struct {
	report    func(part float64, text string)
	waiting   map[string]int64 // packages to the size of their sources
	packages  int              // how many there were at first
	done, all int64            // sizes
}

// compilation finds out what is not in Go's build cache yet, with the packages below it.
func (m goModule) compilation(ctx context.Context, programs []string) (*compilation, error) {
	const format = `{{if .Stale}}{{if ne .StaleReason "not installed but available in build cache"}}` +
		"{{.ImportPath}}\t{{.Dir}}{{range .GoFiles}}\t{{.}}{{end}}{{end}}{{end}}"
	out, err := m.run(ctx, nil, append([]string{"list", "-deps", "-f", format}, programs...)...)
	if err != nil {
		return nil, fmt.Errorf("finding out what is not compiled yet: %w", err)
	}
	c := &compilation{report: m.cache.progress, waiting: map[string]int64{}, all: int64(len(programs)) * linkCost}
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) < 2 {
			continue // it is compiled
		}
		size := sizeOf(fields[1], fields[2:])
		c.waiting[fields[0]] = size
		c.all += size
	}
	c.packages = len(c.waiting)
	return c, nil
}

// sizeOf is 0 for files that cannot be read: only an estimate depends on it.
func sizeOf(dir string, files []string) (size int64) {
	for _, name := range files {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			size += info.Size()
		}
	}
	return size
}

// line takes a line of the build, and reports whether it is a package's name.
func (c *compilation) line(text string) bool {
	size, compiles := c.waiting[text]
	if !compiles {
		return false
	}
	c.report(float64(c.done)/float64(c.all), fmt.Sprintf("%d of %d packages", c.packages-len(c.waiting), c.packages))
	delete(c.waiting, text)
	c.done += size
	return true
}
