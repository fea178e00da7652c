package drain

import (
	"fmt"
	"strings"
)

// Progress is the state of the drain after a round.
type Progress struct {
	// Left is how many pods are left to evict or to end. Zero means that the node is
	// drained.
	Left int
	// Blocked reports whether the drain makes no progress by itself: pods block it, an
	// eviction was refused, or only pods are left that a rule waits for.
	Blocked bool
	// Message names the pods, and what blocks them.
	Message string
	// Refused is the API server's error if it refuses every eviction, as while an
	// admission webhook is unavailable.
	Refused error
}

// progress returns the Progress for the terminating pods, those that cannot be
// evicted, with the reason, and those that a rule waits for. The latter block the drain if
// no other pods are left.
func progress(terminating, refused, waiting []string) Progress {
	p := Progress{Left: len(terminating) + len(refused) + len(waiting), Blocked: len(refused) > 0 || len(terminating) == 0 && len(waiting) > 0}
	var parts []string
	switch {
	case p.Left == 0:
		return Progress{Message: "drained"}
	case len(refused) > 0:
		n := len(terminating) + len(refused)
		parts = append(parts, fmt.Sprintf("%s; cannot be evicted now: %s", remain(n), shorten(refused)))
	case len(terminating) > 0:
		parts = append(parts, fmt.Sprintf("%s terminating: %s", podsAre(len(terminating)), shorten(terminating)))
	}
	if len(waiting) > 0 {
		parts = append(parts, fmt.Sprintf("waiting for %s to complete (drain rule WaitCompleted): %s", pods(len(waiting)), shorten(waiting)))
	}
	p.Message = strings.Join(parts, "; ")
	return p
}

func podsAre(n int) string {
	if n == 1 {
		return "1 pod is"
	}
	return pods(n) + " are"
}

func remain(n int) string {
	if n == 1 {
		return "1 pod remains"
	}
	return pods(n) + " remain"
}

func pods(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

// shorten joins the first three names, and says how many more there are.
func shorten(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
