//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// badSources breaks the index in each way while the window is open.
func (c *testCluster) badSources(t *testing.T) {
	c.apply(t, scenario.Automatic(v1alpha1.TypePatch))
	c.apply(t, scenario.OpenSchedule)
	for _, bad := range []struct {
		fault  string
		reason v1alpha1.Reason
	}{
		{"down", v1alpha1.ReasonSourceUnavailable},
		{"empty", v1alpha1.ReasonSourceEmpty},
		{"rubbish", v1alpha1.ReasonSourceInvalid},
	} {
		t.Run(bad.fault, func(t *testing.T) {
			c.must(t)(c.Lab.Lab(c.ctx, "fault", bad.fault))
			c.eventually(t, 3*time.Minute, "the policy reports "+string(bad.reason), func() error { return c.sourceNotReady(bad.reason) })
			c.checkStatus(t, string(bad.reason))
			c.checkUnchanged(t)
		})
	}
	c.must(t)(c.Lab.Lab(c.ctx, "fault", "none"))
	c.eventually(t, 3*time.Minute, "the policy reports that the source is ready", c.sourceReady)
	c.awaitEveryNodeHeld(t, v1alpha1.ReasonNoUpgrade)
}

// sourceNotReady returns an error unless the UpgradePolicy reports this reason, with a message,
// for a source that is not ready.
func (c *testCluster) sourceNotReady(reason v1alpha1.Reason) error {
	source, err := c.source()
	if err != nil {
		return err
	}
	if source.Status != metav1.ConditionFalse || source.Reason != string(reason) || source.Message == "" {
		return fmt.Errorf("SourceReady is %s, reason %s: %s", source.Status, source.Reason, source.Message)
	}
	return nil
}

func (c *testCluster) sourceReady() error {
	source, err := c.source()
	if err == nil && source.Status != metav1.ConditionTrue {
		err = fmt.Errorf("SourceReady is %s, reason %s: %s", source.Status, source.Reason, source.Message)
	}
	return err
}

// source returns the condition SourceReady of the UpgradePolicy.
func (c *testCluster) source() (*metav1.Condition, error) {
	policy, err := c.ours.UpgradePolicies.Get(c.ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	source := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionSourceReady)
	if source == nil {
		return nil, fmt.Errorf("UpgradePolicy %s has no condition %s", policy.Name, v1alpha1.ConditionSourceReady)
	}
	return source, nil
}

// badImages offers patches with wrong bytes or wrong content while the window is open.
func (c *testCluster) badImages(t *testing.T) {
	for _, bad := range []struct {
		version string
		flags   []string
		reason  v1alpha1.Reason
	}{
		{"v1.34.5", []string{"--content", from, "--corrupt"}, v1alpha1.ReasonHashMismatch},
		{"v1.34.6", []string{"--content", from}, v1alpha1.ReasonContentMismatch},
	} {
		t.Run(string(bad.reason), func(t *testing.T) {
			c.must(t)(c.Lab.Lab(c.ctx, append([]string{"publish", bad.version}, bad.flags...)...))
			c.awaitEveryNodeHeld(t, bad.reason)
			c.checkStatus(t, string(bad.reason), bad.version)
			c.checkUndisturbed(t, 5*time.Second)
			c.checkUnchanged(t)
			c.withdraw(t, bad.version)
		})
	}
}

// badNodes breaks the staging on one node. No node begins, as every node must have staged the
// image, and that node reports why.
func (c *testCluster) badNodes(t *testing.T) {
	const confs = "cd /etc/sysupdate.kubernetes.d; "
	for _, bad := range []struct {
		name, version, breaks, mends string
		reason                       v1alpha1.Reason
	}{
		{"the confs of two minors", "v1.34.7", confs + "sed s/v1.34/v1.33/ kubernetes-v1.34.conf >kubernetes-v1.33.conf", confs + "rm kubernetes-v1.33.conf", v1alpha1.ReasonConfConflict},
		{"a full disk", "v1.34.8", fullDisk, "umount /opt/extensions/kubernetes /mnt", v1alpha1.ReasonDiskFull},
	} {
		t.Run(bad.name, func(t *testing.T) {
			c.must(t)(c.Exec(c.ctx, "w1", "sh", "-ec", bad.breaks))
			c.must(t)(c.Lab.Lab(c.ctx, "publish", bad.version, "--content", from, "--corrupt"))
			c.eventually(t, time.Minute, "w1 reports "+string(bad.reason), func() error { return c.nodeReports("w1", bad.reason) })
			c.checkStatus(t, string(bad.reason))
			c.checkUndisturbed(t, 5*time.Second)
			c.must(t)(c.Exec(c.ctx, "w1", "sh", "-c", bad.mends))
			c.checkUnchanged(t)
			c.withdraw(t, bad.version)
		})
	}
}

// fullDisk puts the images on a file system that has space for the running one only.
const fullDisk = `image=$(readlink -f /etc/extensions/kubernetes.raw)
mount -t tmpfs -o size=$(( $(stat -c %s $image) / 1024 + 4096 ))k tmpfs /mnt
copy=/mnt${image#/opt/extensions/kubernetes}; mkdir -p ${copy%/*}; cp -a $image $copy; mount --bind /mnt /opt/extensions/kubernetes`

func (c *testCluster) nodeReports(name string, reason v1alpha1.Reason) error {
	node, err := c.ours.NodeUpgrades.Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if got, message := node.Status.Explain(); got != reason {
		return fmt.Errorf("reason %s: %s", got, message)
	}
	return nil
}

// withdraw withdraws a version from the source, and deletes the upgrade to it.
func (c *testCluster) withdraw(t *testing.T, version string) {
	t.Helper()
	c.must(t)(c.Lab.Lab(c.ctx, "withdraw", version))
	c.eventually(t, time.Minute, "the coordinator has read that "+version+" is withdrawn", func() error {
		policy, err := c.ours.UpgradePolicies.Get(c.ctx, v1alpha1.PolicyName, metav1.GetOptions{})
		if err == nil && slices.ContainsFunc(policy.Status.Offered, func(o v1alpha1.OfferedVersion) bool { return o.Version == version }) {
			err = fmt.Errorf("the policy offers %v", policy.Status.Offered)
		}
		return err // until then the policy would create the upgrade again
	})
	c.must(t)(c.Kube(c.ctx, "delete", "clusterupgrade", version))
	c.awaitEveryNodeHeld(t, v1alpha1.ReasonNoUpgrade)
}
