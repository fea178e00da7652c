package metrics

import (
	"regexp"
	"slices"
)

// Budget is a PodDisruptionBudget.
type Budget struct{ Namespace, Name string }

// refusal is how a drain's message says that a budget keeps a pod: the pod, and the
// sentence of the API server.
var refusal = regexp.MustCompile(`([a-z0-9.-]+)/[a-z0-9.-]+: The disruption budget ([a-z0-9.-]+) needs`)

// Budgets returns the budgets that the message of a blocked drain names. If it names none,
// it returns the zero Budget.
func Budgets(message string) []Budget {
	var list []Budget
	for _, match := range refusal.FindAllStringSubmatch(message, -1) {
		if b := (Budget{match[1], match[2]}); !slices.Contains(list, b) {
			list = append(list, b)
		}
	}
	if list == nil {
		return []Budget{{}}
	}
	return list
}
