package drain

import (
	"fmt"
	"strings"
)

// Progress is what a round left.
type Progress struct {
	// Left is how many pods have still to leave, or to end; 0: the node is drained.
	Left int
	// Blocked reports whether a pod may not leave now.
	Blocked bool
	// Message names the pods, and what blocks them.
	Message string
	// Refused is what the API server says where it lets no pod be evicted at all, as
	// while an admission webhook is away. Nil: it does.
	Refused error
}

// progress counts the pods that are leaving, those that cannot, with the reason,
// and those that the drain waits for. Such a pod blocks where it is all that is
// left.
func progress(leaving, refused, waiting []string) Progress {
	p := Progress{Left: len(leaving) + len(refused) + len(waiting), Blocked: len(refused) > 0 || len(leaving) == 0 && len(waiting) > 0}
	var parts []string
	switch {
	case p.Left == 0:
		return Progress{Message: "drained"}
	case len(refused) > 0:
		n := len(leaving) + len(refused)
		parts = append(parts, fmt.Sprintf("%s left; cannot be evicted now: %s", pods(n), some(refused)))
	case len(leaving) > 0:
		parts = append(parts, fmt.Sprintf("%s leaving: %s", are(len(leaving)), some(leaving)))
	}
	if len(waiting) > 0 {
		parts = append(parts, fmt.Sprintf("%s waited for until completed, as a drain rule says: %s", are(len(waiting)), some(waiting)))
	}
	p.Message = strings.Join(parts, "; ")
	return p
}

func are(n int) string {
	if n == 1 {
		return "1 pod is"
	}
	return pods(n) + " are"
}

func pods(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

// some keeps a message short enough to be read.
func some(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
