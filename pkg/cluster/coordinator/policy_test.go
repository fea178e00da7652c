package coordinator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestRequiredPolicyIsNotCreated checks that a coordinator with --require-policy releases no
// node until another program, such as Helm, has created the policy.
func TestRequiredPolicyIsNotCreated(t *testing.T) {
	c := newCluster(t, "cp1")
	c.must(c.ours.UpgradePolicies.Delete(t.Context(), v1alpha1.PolicyName, metav1.DeleteOptions{}))
	c.requirePolicy = true
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.startCoordinator("one")
	c.eventually(func() string {
		s, err := c.ours.MaintenanceSchedules.Get(t.Context(), "always", metav1.GetOptions{})
		if err != nil || s.Status.ObservedGeneration < 1 {
			return fmt.Sprintf("the coordinator has not written the status of the schedule: %v", err)
		}
		return ""
	})
	if policy, err := c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("there is a policy: %+v, %v", policy, err)
	}
	c.index.offer("v1.34.4")
	c.applyText(fmt.Sprintf("{apiVersion: %s, kind: UpgradePolicy, metadata: {name: cluster}, spec: {source: {url: %s/, transportPolicy: AllowHTTP}}}", v1alpha1.GroupVersion, c.index.URL))
	c.eventually(c.policyOffers("v1.34.4"))
}

// TestDeletedPolicyIsNotReplaced checks that no coordinator creates a policy once a node is
// managed: nodes stay managed, no other is released, and each says why, until an administrator
// creates the policy again.
func TestDeletedPolicyIsNotReplaced(t *testing.T) {
	c := newCluster(t, "cp1", "w1")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.3")
	c.startAgent("cp1")
	c.startAgent("w1")
	c.startCoordinator("one")
	c.eventually(func() string {
		if w1, err := c.ours.NodeUpgrades.Get(t.Context(), "w1", metav1.GetOptions{}); err != nil || !w1.Spec.Managed {
			return fmt.Sprintf("w1 is not managed (%v)", err)
		}
		return ""
	})
	before, err := c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
	c.must(err)
	c.must(c.ours.UpgradePolicies.Delete(t.Context(), v1alpha1.PolicyName, metav1.DeleteOptions{}))
	c.startCoordinator("two") // as after a restart
	_, err = c.ours.ClusterUpgrades.Create(t.Context(), &v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "patch"}, Spec: v1alpha1.ClusterUpgradeSpec{Version: "v1.34.4"}}, metav1.CreateOptions{})
	c.must(err)
	c.index.offer("v1.34.3", "v1.34.4")
	c.eventually(func() string {
		for _, name := range []string{"cp1", "w1"} {
			u := c.nodeUpgrade(name)
			if reason, message := u.Status.Hold(); reason != v1alpha1.ReasonPolicyMissing || !strings.Contains(message, "until an administrator creates it") {
				return fmt.Sprintf("%s waits because of %s: %s, want PolicyMissing", name, reason, message)
			}
		}
		stalled := meta.FindStatusCondition(c.upgrade("patch").Status.Conditions, v1alpha1.ConditionStalled)
		if stalled == nil || stalled.Reason != string(v1alpha1.ReasonPolicyMissing) {
			return fmt.Sprintf("the upgrade's condition Stalled is %+v, want PolicyMissing", stalled)
		}
		return ""
	})
	time.Sleep(2 * time.Second)
	if policy, err := c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("there is a policy: %+v, %v", policy, err)
	}
	for _, name := range []string{"cp1", "w1"} {
		if spec := c.nodeUpgrade(name).Spec; !spec.Managed || spec.Release.Granted() {
			t.Errorf("%s is ordered %+v, want it managed and not released", name, spec)
		}
	}
	c.policy(func(p *v1alpha1.UpgradePolicy) { p.Spec = before.Spec })
	c.eventually(c.succeeded("patch"))
}

// TestPolicySaysWhyNoPatchIsCreated checks the condition AutomaticHeld: an apiserver's pod of
// another minor, which a kubelet may forge, keeps automatic patches from being created.
func TestPolicySaysWhyNoPatchIsCreated(t *testing.T) {
	c := newCluster(t, "cp1", "w1")
	c.index.offer("v1.34.4")
	forged := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-apiserver-w1", Labels: map[string]string{"component": "kube-apiserver", "tier": "control-plane"}},
		Spec:       corev1.PodSpec{NodeName: "w1", Containers: []corev1.Container{{Name: "c", Image: "registry.k8s.io/kube-apiserver:v1.35.0"}}},
	}
	_, err := c.kube.CoreV1().Pods("kube-system").Create(t.Context(), forged, metav1.CreateOptions{})
	c.must(err)
	c.startCoordinator("one")
	c.eventually(c.policyHasCondition(v1alpha1.ConditionAutomaticHeld, metav1.ConditionTrue, v1alpha1.ReasonSkew))
	if got, want := c.policyCondition(v1alpha1.ConditionAutomaticHeld).Message, "the kube-apiserver of node w1 runs v1.35.0"; !strings.Contains(got, want) {
		t.Errorf("the message is %q, want it to say that %s", got, want)
	}
	c.must(c.kube.CoreV1().Pods("kube-system").Delete(t.Context(), forged.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
	c.eventually(func() string {
		if held := c.policyCondition(v1alpha1.ConditionAutomaticHeld); held != nil {
			return fmt.Sprintf("the condition stays: %+v", held)
		}
		return ""
	})
}

// TestPolicyTakesEffectWithoutRestart checks that the policy is created where it is missing,
// and that a change of it takes effect at once, whatever the interval is.
func TestPolicyTakesEffectWithoutRestart(t *testing.T) {
	c := newCluster(t, "cp1")
	c.must(c.ours.UpgradePolicies.Delete(t.Context(), v1alpha1.PolicyName, metav1.DeleteOptions{}))
	c.startCoordinator("one") // it is offline, as TestMain says: the default source is out of reach
	c.eventually(func() string {
		policy, err := c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if policy.Spec.Source.URL == "" || policy.Spec.Source.IntervalSeconds != 600 || policy.Spec.HistoryLimit != 20 {
			t.Fatalf("the policy was created without its defaults: %+v", policy.Spec)
		}
		return ""
	})
	c.eventually(c.policyHasCondition(v1alpha1.ConditionSourceReady, metav1.ConditionFalse, v1alpha1.ReasonSourceUnavailable))
	if stalled := c.policyCondition(v1alpha1.ConditionStalled); stalled != nil {
		t.Errorf("the policy is stalled while the network is down: %+v", stalled)
	}

	other := newIndex(t)
	c.index.offer("v1.34.4")
	other.offer("v1.34.4", "v1.34.5")
	first := []string{"v1.34.4"}
	for _, step := range []struct {
		index *index
		want  []string
	}{{c.index, first}, {other, []string{"v1.34.5", "v1.34.4"}}, {c.index, first}} {
		// No --force-conflicts: the coordinator owns nothing of the spec.
		c.applyText(fmt.Sprintf("{apiVersion: %s, kind: UpgradePolicy, metadata: {name: cluster}, spec: {source: {url: %s/, transportPolicy: AllowHTTP, intervalSeconds: 3600}}}", v1alpha1.GroupVersion, step.index.URL), "--server-side")
		c.eventually(c.policyOffers(step.want...))
		c.eventually(c.policyHasCondition(v1alpha1.ConditionSourceReady, metav1.ConditionTrue, ""))
	}
	if stalled := c.policyCondition(v1alpha1.ConditionStalled); stalled != nil {
		t.Errorf("the policy is stalled: %+v", stalled)
	}
	c.policy(func(p *v1alpha1.UpgradePolicy) { p.Spec.Source.IntervalSeconds = 1 })
	c.index.offer("v1.34.4", "v1.34.6")
	c.eventually(c.policyOffers("v1.34.6", "v1.34.4"))
	c.checkNoWrites()
}

// TestKeyringWithoutKeyOffersNothing checks that nothing is on offer if signatures are required
// and cannot be verified.
func TestKeyringWithoutKeyOffersNothing(t *testing.T) {
	c := newCluster(t, "cp1")
	c.index.offer("v1.34.4")
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.policy(func(p *v1alpha1.UpgradePolicy) { p.Spec.Source.Keyring = "keys" })
	c.startCoordinator("one")
	c.startAgent("cp1")
	for _, condition := range []string{v1alpha1.ConditionValid, v1alpha1.ConditionSourceReady} {
		c.eventually(c.policyHasCondition(condition, metav1.ConditionFalse, v1alpha1.ReasonSourceInvalid))
		const want = "spec.source.keyring of UpgradePolicy cluster: the keyring has no armored OpenPGP key: want what gpg --export --armor writes"
		if got := c.policyCondition(condition); got.Message != want {
			t.Errorf("%s has the message %q, want %q", condition, got.Message, want)
		}
	}
	c.eventually(c.policyHasCondition(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonSourceInvalid))
	c.checkNoWrites()
	if list, err := c.ours.ClusterUpgrades.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("there are %d upgrades, want none (%v)", len(list.Items), err)
	}
	c.policy(func(p *v1alpha1.UpgradePolicy) { p.Spec.Source.Keyring = "" })
	c.eventually(c.succeeded("v1.34.4"))
	c.eventually(c.policyHasCondition(v1alpha1.ConditionValid, metav1.ConditionTrue, ""))
	c.eventually(func() string {
		policy, err := c.ours.UpgradePolicies.Get(t.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
		c.must(err)
		if s := policy.Status; s.Version != "v1.34.4" || s.Upgrade == nil || s.Upgrade.UID != string(c.upgrade("v1.34.4").UID) || len(s.Images) != 1 {
			return fmt.Sprintf("nodes that join late would get %+v, want v1.34.4 of the upgrade that ended", s)
		}
		return ""
	})
}

// TestPolicySaysUntilWhenAPatchWaits checks the condition AutomaticHeld while minIntervalSeconds holds.
func TestPolicySaysUntilWhenAPatchWaits(t *testing.T) {
	c := newCluster(t, "cp1")
	record := v1alpha1.UpgradeRecord{ObjectMeta: metav1.ObjectMeta{Name: "v1.34.3-1"}, Spec: v1alpha1.UpgradeRecordSpec{Piece: 1, Pieces: 1}}
	record.Spec.Upgrade, record.Spec.Outcome = v1alpha1.UpgradeReference{Name: "v1.34.3", UID: "uid"}, v1alpha1.OutcomeSucceeded
	record.Spec.CreatedBy, record.Spec.Version, record.Spec.EndTime = v1alpha1.CreatedByCoordinator, "v1.34.3", metav1.Now()
	_, err := c.ours.UpgradeRecords.Create(t.Context(), &record, metav1.CreateOptions{})
	c.must(err)
	c.policy(func(p *v1alpha1.UpgradePolicy) { p.Spec.Automatic[0].MinIntervalSeconds = ptr.To[int32](86400) })
	c.index.offer("v1.34.4")
	c.startCoordinator("one")
	c.eventually(c.policyHasCondition(v1alpha1.ConditionAutomaticHeld, metav1.ConditionTrue, v1alpha1.ReasonAutomaticInterval))
	until := clusterstate.FormatTime(record.Spec.EndTime.Add(24 * time.Hour))
	if got, want := c.policyCondition(v1alpha1.ConditionAutomaticHeld).Message, "the next automatic Patch may start "+until+": v1.34.3 ended "; !strings.HasPrefix(got, want) {
		t.Errorf("the message is %q, want %q", got, want)
	}
	if u, err := c.ours.ClusterUpgrades.Get(t.Context(), "v1.34.4", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("there is an upgrade: %+v, %v", u, err)
	}
	c.policy(func(p *v1alpha1.UpgradePolicy) { p.Spec.Automatic[0].MinIntervalSeconds = nil })
	c.eventually(func() string {
		if held := c.policyCondition(v1alpha1.ConditionAutomaticHeld); held != nil {
			return fmt.Sprintf("the condition stays: %+v", held)
		}
		return ""
	})
	c.eventually(func() string {
		if _, err := c.ours.ClusterUpgrades.Get(t.Context(), "v1.34.4", metav1.GetOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
}

// applyText applies an object as kubectl does.
func (c *cluster) applyText(object string, flags ...string) {
	c.Helper()
	command := apitest.Kubectl(c.T, c.config, append([]string{"apply", "-f", "-"}, flags...)...)
	command.Stdin = strings.NewReader(object)
	if out, err := command.CombinedOutput(); err != nil {
		c.Fatalf("kubectl apply: %v\n%s", err, out)
	}
}

func (c *cluster) policyCondition(condition string) *metav1.Condition {
	c.Helper()
	policy, err := c.ours.UpgradePolicies.Get(c.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
	c.must(err)
	return meta.FindStatusCondition(policy.Status.Conditions, condition)
}

// policyOffers checks that the policy lists those versions.
func (c *cluster) policyOffers(versions ...string) func() string {
	return func() string {
		policy, err := c.ours.UpgradePolicies.Get(c.Context(), v1alpha1.PolicyName, metav1.GetOptions{})
		c.must(err)
		var got []string
		for _, one := range policy.Status.Offered {
			got = append(got, one.Version)
		}
		if strings.Join(got, " ") != strings.Join(versions, " ") {
			return fmt.Sprintf("on offer are %v, want %v", got, versions)
		}
		return ""
	}
}
