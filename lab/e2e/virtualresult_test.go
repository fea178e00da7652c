//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// followSteps copies the steps that a virtual machine writes to a page, with the time that
// they took on this machine, until the context ends.
func followSteps(ctx context.Context, steps, page string) error {
	f, err := os.Create(page)
	if err != nil {
		return err
	}
	defer f.Close()
	began := time.Now()
	if _, err := fmt.Fprintf(f, "%s, on %d shared processors; there: by the clock of the virtual machine.\n\n",
		began.UTC().Format(time.DateTime), runtime.NumCPU()); err != nil {
		return err
	}
	for copied, last := 0, false; !last; {
		select {
		case <-ctx.Done():
			last = true
		case <-time.After(time.Second):
		}
		text, err := os.ReadFile(steps)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		fresh := text[copied : strings.LastIndex(string(text), "\n")+1]
		copied += len(fresh)
		here := fmt.Sprintf("%s%s here, ", stepPrefix, time.Since(began).Round(time.Second))
		for line := range strings.Lines(string(fresh)) {
			if there, ok := strings.CutPrefix(line, stepPrefix); ok {
				line = here + strings.Replace(there, ":", " there:", 1)
			}
			if _, err := f.WriteString(line); err != nil {
				return err
			}
		}
	}
	return nil
}
