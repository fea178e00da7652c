package artifacts

import (
	"context"
	"fmt"
	"strings"
)

// linkCost is how many packages compile while one program is linked, about.
const linkCost = 20

// compilation is the progress of one `go build -v`, which prints the name of a package
// when it begins to compile it. Packages are counted: the size of their sources predicts
// the time no better.
type compilation struct {
	report   func(part float64, text string)
	waiting  map[string]bool
	packages int // how many were waiting at first
	programs int
}

// compilation finds out what is not in Go's build cache yet, with the packages that
// import it: if these turn out to be the same as before, they are not compiled.
func (m goModule) compilation(ctx context.Context, programs []string) (*compilation, error) {
	const format = `{{if .Stale}}{{if ne .StaleReason "not installed but available in build cache"}}{{.ImportPath}}{{end}}{{end}}`
	out, err := m.run(ctx, nil, append([]string{"list", "-deps", "-f", format}, programs...)...)
	if err != nil {
		return nil, fmt.Errorf("finding out what is not compiled yet: %w", err)
	}
	c := &compilation{report: m.cache.progress, waiting: map[string]bool{}, programs: len(programs)}
	for _, name := range strings.Fields(out) {
		c.waiting[name] = true
	}
	c.packages = len(c.waiting)
	return c, nil
}

// line takes a line of the build, and reports whether it is a package's name.
func (c *compilation) line(text string) bool {
	if !c.waiting[text] {
		return false
	}
	done := c.packages - len(c.waiting)
	c.report(float64(done)/float64(c.packages+c.programs*linkCost), fmt.Sprintf("%d of %d packages", done, c.packages))
	delete(c.waiting, text)
	return true
}
