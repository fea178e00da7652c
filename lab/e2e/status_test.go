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

// upgradeStatus is the part of `kubectl upgrade status -o json` that the tests read.
type upgradeStatus struct {
	Upgrade struct {
		Name    string          `json:"name"`
		Reason  v1alpha1.Reason `json:"reason"`
		Message string          `json:"message"`
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

func (c *testCluster) status() (map[string]nodeStatus, v1alpha1.Reason, error) {
	out, err := c.Upgrade(c.ctx, "status", "-o", "json")
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

// statusOf returns the line of a node, or that of the upgrade if node is empty.
func (c *testCluster) statusOf(node string) (nodeStatus, error) {
	out, err := c.Upgrade(c.ctx, "status", "-o", "json")
	if err != nil {
		return nodeStatus{}, err
	}
	var s upgradeStatus
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		return nodeStatus{}, fmt.Errorf("reading kubectl upgrade status -o json: %w", err)
	}
	for _, n := range s.Nodes {
		if n.Name == node {
			return n, nil
		}
	}
	return nodeStatus{Name: s.Upgrade.Name, Reason: s.Upgrade.Reason, Message: s.Upgrade.Message}, nil
}

// awaitStatus waits until `kubectl upgrade status` prints this reason for each of the nodes, as
// JSON and as text, with a message that matches words. It returns the status of all nodes.
func (c *testCluster) awaitStatus(t *testing.T, reason v1alpha1.Reason, words string, names ...string) map[string]nodeStatus {
	t.Helper()
	var nodes map[string]nodeStatus
	var screen string
	c.eachSecond(t, 3*time.Minute, fmt.Sprintf("the status of %[2]v is %[1]s", reason, names), func() (err error) {
		if nodes, _, err = c.status(); err != nil {
			return err
		}
		if screen, err = c.Upgrade(c.ctx, "status"); err != nil {
			return err
		}
		for _, name := range names {
			if node := nodes[name]; node.Reason != reason || !regexp.MustCompile(words).MatchString(node.Message) {
				return fmt.Errorf("%s: step %s, reason %s: %s", name, node.Step, node.Reason, node.Message)
			}
			line := regexp.MustCompile(fmt.Sprintf(`(?m)^%s\s.*\s%s[:\s].*%s`, name, reason, words))
			if !line.MatchString(screen) {
				return fmt.Errorf("the output has no line %q:\n%s", line, screen)
			}
		}
		return nil
	})
	t.Log("\n" + screen)
	return nodes
}

// awaitUpgradeStatus waits until no node works any more and `kubectl upgrade status` prints
// this reason for the upgrade.
func (c *testCluster) awaitUpgradeStatus(t *testing.T, want v1alpha1.Reason) {
	t.Helper()
	c.eachSecond(t, 3*time.Minute, fmt.Sprintf("the status of the upgrade is %s", want), func() error {
		_, got, err := c.status()
		if err == nil && got != want {
			err = fmt.Errorf("got reason %s", got)
		}
		return err
	})
}
