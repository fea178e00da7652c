package migrate

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// mostRules is the API's limit for drain rules.
const mostRules = 8

func (k *kured) blockingPods(row *Row, s setting) {
	if len(s.values) == 0 {
		row.Meaning = NotNeeded
		return
	}
	row.Meaning, row.Becomes = Nearest, "strategy.drain.rules with behavior: WaitCompleted"
	row.Note = "kured does not begin while such a pod is on the node. An agent cordons the node and waits in its drain until they have ended; after strategy.drain.timeoutSeconds it uncordons the node and tries again later"
	for i, value := range s.values {
		selector, err := parseSelector(value)
		switch {
		case err != nil:
			row.Meaning, row.Becomes, row.Note = None, "", fmt.Sprintf("%q is no selector of labels: kured never reboots a node", value)
			return
		case i == mostRules-2:
			row.Note = fmt.Sprintf("only the first %d: a strategy has at most %d rules", i, mostRules)
			return
		}
		k.addRule(fmt.Sprintf("kured-blocking-%d", i+1), *selector, v1alpha1.DrainWaitCompleted)
	}
}

func (k *kured) drainPods(row *Row, s setting) {
	if s.value() == "" {
		row.Meaning = NotNeeded
		return
	}
	selector, err := parseSelector(s.value())
	if err != nil {
		row.Meaning, row.Note = None, "it is no selector of labels: kured drains no node"
		return
	}
	row.Becomes = "strategy.drain.rules: Drain for these pods, Skip for all others"
	k.addRule("kured-drain", *selector, v1alpha1.DrainPod)
	k.addRule("kured-others", v1alpha1.LabelSelector{}, v1alpha1.DrainSkip)
}

func (r *Result) addRule(name string, selector v1alpha1.LabelSelector, behavior v1alpha1.DrainBehavior) {
	drain := &r.Policy.Strategy.Drain
	drain.Rules = append(drain.Rules, v1alpha1.DrainRule{Name: name, PodSelector: selector, Behavior: behavior})
}

// parseSelector reads a selector in the form of kubectl's -l.
func parseSelector(value string) (*v1alpha1.LabelSelector, error) {
	parsed, err := metav1.ParseToLabelSelector(value)
	if err != nil {
		return nil, err
	}
	return v1alpha1.NewLabelSelector(parsed), nil
}
