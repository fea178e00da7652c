//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// badSources breaks the index in each way, while the window is open.
func (w *world) badSources(t *testing.T) {
	w.apply(t, scenario.Automatic(v1alpha1.TypePatch))
	w.apply(t, scenario.OpenSchedule)
	for _, bad := range []struct {
		fault  string
		reason v1alpha1.Reason
	}{
		{"down", v1alpha1.ReasonSourceUnavailable},
		{"empty", v1alpha1.ReasonSourceEmpty},
		{"rubbish", v1alpha1.ReasonSourceInvalid},
	} {
		t.Run(bad.fault, func(t *testing.T) {
			w.must(t)(w.Lab.Lab(w.ctx, "fault", bad.fault))
			w.eventually(t, 3*time.Minute, "the policy says "+string(bad.reason), func() error { return w.policySays(bad.reason) })
			w.statusNames(t, string(bad.reason))
			w.untouched(t)
		})
	}
	w.must(t)(w.Lab.Lab(w.ctx, "fault", "none"))
	w.eventually(t, 3*time.Minute, "the policy says that the source is ready", w.sourceReady)
	w.everyNodeWaits(t, v1alpha1.ReasonNoUpgrade)
}

// policySays reports an error unless the UpgradePolicy gives this reason, with a
// sentence, for having no source.
func (w *world) policySays(reason v1alpha1.Reason) error {
	source, err := w.source()
	if err != nil {
		return err
	}
	if source.Status != metav1.ConditionFalse || source.Reason != string(reason) || source.Message == "" {
		return fmt.Errorf("SourceReady is %s, reason %s: %s", source.Status, source.Reason, source.Message)
	}
	return nil
}

func (w *world) sourceReady() error {
	source, err := w.source()
	if err == nil && source.Status != metav1.ConditionTrue {
		err = fmt.Errorf("SourceReady is %s, reason %s: %s", source.Status, source.Reason, source.Message)
	}
	return err
}

// source returns what the UpgradePolicy says of the source of images.
func (w *world) source() (*metav1.Condition, error) {
	policy, err := w.ours.UpgradePolicies.Get(w.ctx, v1alpha1.PolicyName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	source := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionSourceReady)
	if source == nil {
		return nil, fmt.Errorf("UpgradePolicy %s has no condition %s", policy.Name, v1alpha1.ConditionSourceReady)
	}
	return source, nil
}

// badImages offers patches with wrong bytes or wrong content, while the window is
// open.
func (w *world) badImages(t *testing.T) {
	for _, bad := range []struct {
		version string
		flags   []string
		reason  v1alpha1.Reason
	}{
		{"v1.34.5", []string{"--content", from, "--corrupt"}, v1alpha1.ReasonHashMismatch},
		{"v1.34.6", []string{"--content", from}, v1alpha1.ReasonContentMismatch},
	} {
		t.Run(string(bad.reason), func(t *testing.T) {
			w.must(t)(w.Lab.Lab(w.ctx, append([]string{"publish", bad.version}, bad.flags...)...))
			w.everyNodeWaits(t, bad.reason)
			w.statusNames(t, string(bad.reason), bad.version)
			w.quiet(t, 5*time.Second)
			w.untouched(t)
			w.forget(t, bad.version)
		})
	}
}

// badNodes breaks the staging on one node. No node begins, as staging comes first
// everywhere, and the one node says why.
func (w *world) badNodes(t *testing.T) {
	const confs = "cd /etc/sysupdate.kubernetes.d; "
	for _, bad := range []struct {
		name, version, breaks, mends string
		reason                       v1alpha1.Reason
	}{
		{"the confs of two minors", "v1.34.7", confs + "sed s/v1.34/v1.33/ kubernetes-v1.34.conf >kubernetes-v1.33.conf", confs + "rm kubernetes-v1.33.conf", v1alpha1.ReasonConfConflict},
		{"a full disk", "v1.34.8", fullDisk, "umount /opt/extensions/kubernetes /mnt", v1alpha1.ReasonDiskFull},
	} {
		t.Run(bad.name, func(t *testing.T) {
			w.must(t)(w.Exec(w.ctx, "w1", "sh", "-ec", bad.breaks))
			w.must(t)(w.Lab.Lab(w.ctx, "publish", bad.version, "--content", from, "--corrupt"))
			w.eventually(t, time.Minute, "w1 says "+string(bad.reason), func() error { return w.nodeSays("w1", bad.reason) })
			w.statusNames(t, string(bad.reason))
			w.quiet(t, 5*time.Second)
			w.must(t)(w.Exec(w.ctx, "w1", "sh", "-c", bad.mends))
			w.untouched(t)
			w.forget(t, bad.version)
		})
	}
}

// fullDisk puts the images on a file system that has room for the running one
// and no other.
const fullDisk = `image=$(readlink -f /etc/extensions/kubernetes.raw)
mount -t tmpfs -o size=$(( $(stat -c %s $image) / 1024 + 4096 ))k tmpfs /mnt
cp -a $image /mnt/; mount --bind /mnt /opt/extensions/kubernetes`

func (w *world) nodeSays(name string, reason v1alpha1.Reason) error {
	node, err := w.ours.NodeUpgrades.Get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if got, message := node.Status.Explain(); got != reason {
		return fmt.Errorf("reason %s: %s", got, message)
	}
	return nil
}

// forget takes a version off offer, and the upgrade that it caused away.
func (w *world) forget(t *testing.T, version string) {
	t.Helper()
	w.must(t)(w.Lab.Lab(w.ctx, "withdraw", version))
	time.Sleep(5 * time.Second) // the coordinator's next look at the index
	w.must(t)(w.Kube(w.ctx, "delete", "clusterupgrade", version))
	w.everyNodeWaits(t, v1alpha1.ReasonNoUpgrade)
}
