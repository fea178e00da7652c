package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/artifacts"
)

// progress writes a line for each step: its name, and then how long it took.
func progress(out io.Writer) artifacts.Reporter {
	return func(step string) func(error) {
		began := time.Now()
		fmt.Fprintf(out, "  %s … ", step)
		return func(err error) {
			took := time.Since(began).Round(100 * time.Millisecond)
			if err != nil {
				fmt.Fprintf(out, "failed after %s\n", took)
				return
			}
			fmt.Fprintf(out, "%s\n", took)
		}
	}
}
