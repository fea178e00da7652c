//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// upgradeStatus is of `kubectl upgrade status -o json` what scripts would read.
type upgradeStatus struct {
	Upgrade struct {
		Name   string          `json:"name"`
		Reason v1alpha1.Reason `json:"reason"`
	} `json:"upgrade"`
	Nodes []nodeStatus `json:"nodes"`
}

type nodeStatus struct {
	Name    string          `json:"name"`
	State   string          `json:"state"`
	Step    v1alpha1.Step   `json:"step"`
	Reason  v1alpha1.Reason `json:"reason"`
	Message string          `json:"message"`
	Until   *time.Time      `json:"until"`
}

func (w *world) status() (map[string]nodeStatus, v1alpha1.Reason, error) {
	out, err := w.Upgrade(w.ctx, "status", "-o", "json")
	if err != nil {
		return nil, "", err
	}
	var s upgradeStatus
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		return nil, "", fmt.Errorf("reading kubectl upgrade status -o json: %w", err)
	}
	nodes := map[string]nodeStatus{}
	for _, node := range s.Nodes {
		nodes[node.Name] = node
	}
	return nodes, s.Upgrade.Reason, nil
}

// says waits until `kubectl upgrade status` gives this reason for each of the
// nodes, as JSON and on the screen, with these words in the sentence.
func (w *world) says(t *testing.T, reason v1alpha1.Reason, words string, names ...string) map[string]nodeStatus {
	t.Helper()
	var nodes map[string]nodeStatus
	var screen string
	w.eachSecond(t, 3*time.Minute, fmt.Sprintf("status says %s of %v", reason, names), func() (err error) {
		if nodes, _, err = w.status(); err != nil {
			return err
		}
		if screen, err = w.Upgrade(w.ctx, "status"); err != nil {
			return err
		}
		for _, name := range names {
			if node := nodes[name]; node.Reason != reason || !regexp.MustCompile(words).MatchString(node.Message) {
				return fmt.Errorf("%s: step %s, reason %s: %s", name, node.Step, node.Reason, node.Message)
			}
			line := regexp.MustCompile(fmt.Sprintf(`(?m)^%s\s.*\s%s: .*%s`, name, reason, words))
			if !line.MatchString(screen) {
				return fmt.Errorf("the screen has no line %q:\n%s", line, screen)
			}
		}
		return nil
	})
	t.Log("\n" + screen)
	return nodes
}

// upgradeSays waits until no node is at work any more and the upgrade as a whole
// gives this reason.
func (w *world) upgradeSays(t *testing.T, want v1alpha1.Reason) {
	t.Helper()
	w.eachSecond(t, 3*time.Minute, fmt.Sprintf("status says %s of the upgrade", want), func() error {
		_, got, err := w.status()
		if err == nil && got != want {
			err = fmt.Errorf("reason %s", got)
		}
		return err
	})
}
