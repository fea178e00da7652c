//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// runbooks is a cluster to which happens what the alerts are about.
type runbooks struct{ *testCluster }

// TestRunbooks brings about what each alert is for, and runs every command of its section in
// docs/runbooks.md as a person would: `make e2e-runbooks`.
func TestRunbooks(t *testing.T) {
	c := runbooks{newCluster(t, 1, 2)}
	c.must(t)(c.Lab.Lab(c.ctx, "publish", to))
	t.Run("no window", c.noWindow)
	t.Run("an invalid schedule", c.invalidSchedule)
	t.Run("an invalid policy", c.invalidPolicy)
	t.Run("an unreadable source", c.unreadableSource)
	t.Run("a suspended upgrade", c.suspended)
	t.Run("agents that crash", c.agentsCrash)
	t.Run("no coordinator", c.noCoordinator)
	t.Run("refused writes", c.refusedWrites)
	t.Run("a budget that blocks a drain", c.blockedDrain)
	t.Run("a node that was rolled back", c.rolledBack)
	t.Run("every section was tried", c.everySectionTried)
}

// tried has the alerts whose commands were run.
var tried = map[string]bool{}

// sections returns the text of each alert's section in docs/runbooks.md.
func (c runbooks) sections(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(c.root, "docs", "runbooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		alert, text, _ := strings.Cut(section, "\n")
		all[alert] = text
	}
	return all
}

// commandLine matches a command in a page, and the comment after it.
var commandLine = regexp.MustCompile(`(?m)^\$ (.*?)(?:\s{2,}# (.*))?$`)

// section runs every command of the alert's section, and checks that each succeeds, or fails if its
// comment says so, and that together they print the text. values are placeholders and what
// stands for them.
func (c runbooks) section(t *testing.T, alert, text string, values ...string) {
	t.Helper()
	tried[alert] = true
	section, found := c.sections(t)[alert]
	if !found {
		t.Fatalf("docs/runbooks.md has no section %s", alert)
	}
	var printed bytes.Buffer
	for _, match := range commandLine.FindAllStringSubmatch(section, -1) {
		line := strings.NewReplacer(values...).Replace(match[1])
		err := c.command(t, &printed, line)
		if fails := strings.HasPrefix(match[2], "fails"); fails != (err != nil) {
			t.Errorf("%s: %v, want that it fails: %t", line, err, fails)
		}
	}
	t.Logf("%s:\n%s", alert, printed.String())
	if !strings.Contains(printed.String(), text) {
		t.Errorf("the commands of %s do not print %q", alert, text)
	}
}

// command runs a command of a section.
func (c runbooks) command(t *testing.T, printed *bytes.Buffer, line string) error {
	t.Helper()
	out, err := c.shell(t.TempDir(), line)
	fmt.Fprintf(printed, "$ %s\n%s", line, out)
	return err
}

const patchOnly = `
apiVersion: kubectl-upgrade.dev/v1alpha1
kind: ClusterUpgrade
metadata: {name: patch}
spec: {version: ` + to + `}
`

func (c runbooks) noWindow(t *testing.T) {
	c.apply(t, patchOnly)
	c.awaitUpgradeStatus(t, v1alpha1.ReasonWindowClosed)
	c.section(t, "KubectlUpgradeNoWindow", "WindowClosed")
	c.section(t, "KubectlUpgradePatchWaits", "WindowClosed")
}

func (c runbooks) invalidSchedule(t *testing.T) {
	c.apply(t, strings.Replace(scenario.OpenSchedule, "FREQ=DAILY", "FREQ=MONTHLY;BYSETPOS=1", 1))
	c.awaitUpgradeStatus(t, v1alpha1.ReasonScheduleInvalid)
	name := strings.TrimSpace(c.must(t)(c.Kube(c.ctx, "get", "maintenanceschedules", "-o", "name")))
	name = name[strings.LastIndex(name, "/")+1:]
	c.section(t, "KubectlUpgradeScheduleInvalid", "BYSETPOS", "NAME", name)
	c.must(t)(c.Kube(c.ctx, "delete", "maintenanceschedule", name))
}

func (c runbooks) invalidPolicy(t *testing.T) {
	c.patchPolicy(t, `{"source":{"keyring":"-----BEGIN PGP PUBLIC KEY BLOCK-----"}}`)
	c.eventually(t, time.Minute, "the policy is invalid", func() error { return c.policyCondition(v1alpha1.ConditionValid, metav1.ConditionFalse) })
	c.section(t, "KubectlUpgradePolicyInvalid", "key")
	c.patchPolicy(t, `{"source":{"keyring":null}}`)
	c.eventually(t, time.Minute, "the policy is valid", func() error { return c.policyCondition(v1alpha1.ConditionValid, metav1.ConditionTrue) })
}

func (c runbooks) unreadableSource(t *testing.T) {
	policy, err := c.ours.UpgradePolicies.Get(c.ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.must(t)(c.Lab.Lab(c.ctx, "fault", "down"))
	c.eventually(t, 3*time.Minute, "the source is not available", func() error { return c.sourceNotReady(v1alpha1.ReasonSourceUnavailable) })
	c.section(t, "KubectlUpgradeSourceUnreadable", "SHA256SUMS", "URL", policy.Spec.Source.URL)
	c.must(t)(c.Lab.Lab(c.ctx, "fault", "none"))
	c.eventually(t, 3*time.Minute, "the source is ready", c.sourceReady)
}

func (c runbooks) suspended(t *testing.T) {
	c.must(t)(c.Upgrade(c.ctx, "suspend", "patch"))
	c.awaitUpgradeStatus(t, v1alpha1.ReasonSuspended)
	c.section(t, "KubectlUpgradeStalled", "Suspended", "NAME", "patch")
	c.must(t)(c.Upgrade(c.ctx, "resume", "patch"))
	c.awaitUpgradeStatus(t, v1alpha1.ReasonWindowClosed)
}

func (c runbooks) agentsCrash(t *testing.T) {
	const namespace = v1alpha1.Namespace
	c.must(t)(c.Kube(c.ctx, "-n", namespace, "patch", "daemonset", "node-agent", "--type", "json", "-p", `[{"op":"add","path":"/spec/template/spec/containers/0/args","value":["--no-such-flag"]}]`))
	var node, pod string
	c.eventually(t, 3*time.Minute, "an agent crashes", func() error {
		pods, err := c.kube.CoreV1().Pods(namespace).List(c.ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=node-agent"})
		if err != nil {
			return err
		}
		for _, p := range pods.Items {
			if s := p.Status.ContainerStatuses; len(s) > 0 && s[0].RestartCount > 1 {
				node, pod = p.Spec.NodeName, p.Name
				return nil
			}
		}
		return fmt.Errorf("no agent was restarted twice")
	})
	// The kubelet removes a crashed container when it starts the next, and has no log of it then.
	c.eventually(t, time.Minute, "the log of a crash can be read", func() error {
		said, err := c.Kube(c.ctx, "-n", namespace, "logs", pod, "--previous")
		if err == nil && !strings.Contains(said, "no-such-flag") {
			err = errors.New(said)
		}
		return err
	})
	c.section(t, "KubectlUpgradeAgentsNotReady", pod)
	c.section(t, "KubectlUpgradeAgentSilent", "no-such-flag", "NODE", node, "POD", pod)
	c.must(t)(c.Kube(c.ctx, "-n", namespace, "rollout", "undo", "daemonset/node-agent"))
	c.must(t)(c.Kube(c.ctx, "-n", namespace, "rollout", "status", "daemonset/node-agent", "--timeout", "3m"))
}

func (c runbooks) noCoordinator(t *testing.T) {
	c.must(t)(c.Kube(c.ctx, "-n", v1alpha1.Namespace, "scale", "deployment/coordinator", "--replicas", "0"))
	c.eventually(t, 3*time.Minute, "status says that no coordinator runs", func() error {
		said, err := c.Upgrade(c.ctx, "status")
		if !strings.Contains(said, "CoordinatorNotRunning") {
			return fmt.Errorf("%s (%w)", said, err)
		}
		return nil
	})
	c.section(t, "KubectlUpgradeNoLeader", "CoordinatorNotRunning")
	c.must(t)(c.Kube(c.ctx, "-n", v1alpha1.Namespace, "scale", "deployment/coordinator", "--replicas", "2"))
	c.must(t)(c.Kube(c.ctx, "-n", v1alpha1.Namespace, "rollout", "status", "deployment/coordinator", "--timeout", "3m"))
}

// refusal makes the API server refuse every change of a NodeUpgrade by the coordinator.
const refusal = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refusal}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [kubectl-upgrade.dev], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [nodeupgrades, nodeupgrades/status]}]
  matchConditions: [{name: coordinator, expression: 'request.userInfo.username.endsWith(":coordinator")'}]
  validations: [{expression: "false", message: "refused by the test"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refusal}
spec: {policyName: refusal, validationActions: [Deny]}
`

func (c runbooks) refusedWrites(t *testing.T) {
	c.apply(t, refusal)
	time.Sleep(10 * time.Second)                    // until the API server enforces it
	c.apply(t, scenario.ClosedSchedule(time.Now())) // changes what every NodeUpgrade says
	c.eventually(t, 2*time.Minute, "the policy reports refused writes", func() error { return c.policyCondition(v1alpha1.ConditionWriteFailed, metav1.ConditionTrue) })
	c.section(t, "KubectlUpgradeWritesFail", "refused by the test")
	c.must(t)(c.Kube(c.ctx, "delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "refusal"))
	c.eventually(t, 2*time.Minute, "writes succeed again", func() error { return c.policyCondition(v1alpha1.ConditionWriteFailed, "") })
}

func (c runbooks) blockedDrain(t *testing.T) {
	c.apply(t, stuck)
	c.must(t)(c.Kube(c.ctx, "-n", "default", "rollout", "status", "deployment/stuck", "--timeout", "2m"))
	c.apply(t, scenario.OpenSchedule)
	c.eventually(t, 10*time.Minute, "w1 is draining", func() error { return c.at("w1", v1alpha1.StepDraining) })
	time.Sleep(15 * time.Second) // until only the blocked pod is left
	c.section(t, "KubectlUpgradeDrainBlocked", "default/stuck", "NODE", "w1", "NAMESPACE", "default", "BUDGET", "stuck")
	c.section(t, "KubectlUpgradeNodeOverdue", "Draining", "NODE", "w1")
	c.section(t, "KubectlUpgradeNodeBeingUpgraded", "", "NODE", "w1")
	c.must(t)(c.Kube(c.ctx, "-n", "default", "delete", "poddisruptionbudget", "stuck"))
	c.eventually(t, 15*time.Minute, "the patch has succeeded", func() error { return c.upgradeSucceeded("patch") })
}

// rolledBack upgrades w1 to an image whose kubelet does not start.
func (c runbooks) rolledBack(t *testing.T) {
	next := nextPatch(t, to)
	c.must(t)(c.Lab.Lab(c.ctx, "publish", next, "--programs-of", from))
	time.Sleep(indexRead)
	c.apply(t, fmt.Sprintf(patchBy, next, v1alpha1.MethodReboot)+"  nodeSelector: {matchLabels: {kubernetes.io/hostname: cp1}}\n")
	c.eventually(t, 10*time.Minute, "cp1 runs "+next, func() error { return c.succeeded(next) })
	c.must(t)(c.Kube(c.ctx, "delete", "clusterupgrade", next))
	c.must(t)(c.Lab.Lab(c.ctx, "publish", next, "--programs-of", from, "--broken", "hang"))
	time.Sleep(indexRead)
	c.apply(t, fmt.Sprintf(patchBy, next, v1alpha1.MethodRestart)+"  nodeSelector: {matchLabels: {kubernetes.io/hostname: w1}}\n")
	c.eventually(t, 15*time.Minute, "w1 was rolled back", func() error { return c.at("w1", v1alpha1.StepRolledBack) })
	c.section(t, "KubectlUpgradeNodeFailed", "RolledBack", "NODE", "w1")
}

// everySectionTried checks that no section was left out.
func (c runbooks) everySectionTried(t *testing.T) {
	all := c.sections(t)
	if len(all) == 0 {
		t.Fatal("docs/runbooks.md has no sections")
	}
	for alert := range all {
		if !tried[alert] {
			t.Errorf("the commands of %s were not tried", alert)
		}
	}
}

// policyCondition returns an error unless the condition of the UpgradePolicy has that status;
// "" means that it is absent.
func (c runbooks) policyCondition(condition string, want metav1.ConditionStatus) error {
	policy, err := c.ours.UpgradePolicies.Get(c.ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	got := metav1.Condition{}
	if found := meta.FindStatusCondition(policy.Status.Conditions, condition); found != nil {
		got = *found
	}
	if got.Status != want {
		return fmt.Errorf("the policy's condition %s is %q, want %q: %s", condition, got.Status, want, got.Message)
	}
	return nil
}
