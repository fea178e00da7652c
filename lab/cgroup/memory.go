package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Memory returns how much memory the node uses, in bytes: what its processes hold,
// without the page cache, which the kernel takes back when it needs to.
func (g Groups) Memory() (int64, error) {
	hierarchy, name := "memory", "total_rss "
	if g.Version == V2 {
		hierarchy, name = "", "anon "
	}
	stat, err := os.ReadFile(filepath.Join(g.path(hierarchy), "memory.stat"))
	if err != nil {
		return 0, fmt.Errorf("reading the memory of node %s: %w", g.node, err)
	}
	for line := range strings.Lines(string(stat)) {
		if value, found := strings.CutPrefix(line, name); found {
			return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, fmt.Errorf("reading the memory of node %s: no %s", g.node, strings.TrimSpace(name))
}
