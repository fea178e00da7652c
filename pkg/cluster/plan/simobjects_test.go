package plan_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// uid returns the UID for the next upgrade of that name.
func (s *sim) uid(name string) types.UID {
	s.created++
	if s.created == 1 || s.upgrade(name) == nil && !s.samplesOf(name) {
		return types.UID("uid-" + name)
	}
	return types.UID(fmt.Sprintf("uid-%s-%d", name, s.created))
}

func (s *sim) samplesOf(name string) bool {
	return slices.ContainsFunc(s.Records, func(r v1alpha1.UpgradeRecord) bool { return r.Spec.Upgrade.Name == name })
}

// reference returns the reference to the first upgrade of that name.
func reference(name string) *v1alpha1.UpgradeReference {
	return &v1alpha1.UpgradeReference{Name: name, UID: "uid-" + name}
}

// upgradeNamed returns the name in a reference.
func upgradeNamed(ref *v1alpha1.UpgradeReference) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}

func sameUpgrade(a, b *v1alpha1.UpgradeReference) bool {
	return a == b || a != nil && b != nil && a.UID == b.UID
}

// managing returns a policy that manages every node.
func managing() *v1alpha1.UpgradePolicy {
	return &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}, Spec: v1alpha1.UpgradePolicySpec{Mode: v1alpha1.ModeManage}}
}

// policy returns the policy, and creates it where it is missing.
func (s *sim) policy() *v1alpha1.UpgradePolicy {
	if s.Policy == nil {
		s.Policy = managing()
	}
	return s.Policy
}

// automatic sets what the policy creates by itself: types, each followed by its age=, notice= and
// interval=DURATION.
func (s *sim) automatic(args []string) error {
	spec := &s.policy().Spec
	spec.Automatic = nil
	for _, arg := range args {
		key, text, isOption := strings.Cut(arg, "=")
		if !isOption {
			spec.Automatic = append(spec.Automatic, v1alpha1.AutomaticUpgrade{Type: v1alpha1.UpgradeType(arg)})
			continue
		}
		lasts, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		last := &spec.Automatic[len(spec.Automatic)-1]
		fields := map[string]**int32{"age": &last.MinAgeSeconds, "notice": &last.NoticeSeconds, "interval": &last.MinIntervalSeconds, "remaining": &last.RemainingSeconds}
		*fields[key] = ptr.To(int32(lasts.Seconds()))
	}
	return nil
}

// certify sets the certificates that the agent of a control plane has found.
func (s *sim) certify(n *clusterstate.Node, age, life, what string) error {
	old, err := time.ParseDuration(age)
	lasts, err2 := time.ParseDuration(life)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	inventory := s.newInventory(n)
	inventory.CertificateRenewalDisabled = what == "disabled"
	for _, path := range []string{"/etc/kubernetes/scheduler.conf", "/etc/kubernetes/pki/apiserver.crt"} {
		written := metav1.NewTime(s.now.Add(-old))
		c := v1alpha1.CertificateFacts{Path: path, NotBefore: &written, WrittenTime: &written, NotAfter: metav1.NewTime(written.Add(lasts)), RenewedBy: v1alpha1.RenewedByKubeadm}
		if what == "elsewhere" {
			c.RenewedBy = v1alpha1.RenewedElsewhere
		}
		if what == "former" {
			c.InUse = v1alpha1.UsesFormer
		}
		inventory.Certificates = append(inventory.Certificates, c)
	}
	s.Inventories = append(s.Inventories, inventory)
	return nil
}

// renewCertificates renews them for as long as they lasted.
func (s *sim) renewCertificates(n *clusterstate.Node, upgrade v1alpha1.UpgradeReference, status *v1alpha1.NodeUpgradeStatus) {
	status.CertificatesRenewed = &v1alpha1.CertificatesRenewed{Upgrade: upgrade, Time: metav1.NewTime(s.now)}
	for i := range s.Inventories {
		if s.Inventories[i].Name != n.Name {
			continue
		}
		for j := range s.Inventories[i].Certificates {
			c, written := &s.Inventories[i].Certificates[j], metav1.NewTime(s.now)
			c.NotAfter = metav1.NewTime(s.now.Add(c.NotAfter.Sub(c.WrittenTime.Time)))
			c.NotBefore, c.WrittenTime, c.InUse = &written, &written, v1alpha1.UsesCurrent
		}
	}
}

// abandon declares that a node will not come back.
func (s *sim) abandon(n *clusterstate.Node, reason string) {
	nodeUpgrade := s.nodeUpgrade(n.Name, n.UID)
	nodeUpgrade.Abandoned = &v1alpha1.Abandoned{Comment: reason}
	nodeUpgrade.Generation++
}

// setCause sets the reason and the message that the agent reports.
func setCause(status *v1alpha1.NodeUpgradeStatus, reason v1alpha1.Reason, message string) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionUpToDate, Status: metav1.ConditionFalse, Reason: string(reason), Message: message,
	})
}

// mount adds a mount that a refresh would break.
func (s *sim) mount(node, path string) {
	inventory := v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: node}}
	inventory.RefreshBlockers = []string{path}
	s.Inventories = append(s.Inventories, inventory)
}

// report sets the components of a control plane that the node's agent reports.
func (s *sim) report(n *clusterstate.Node, components []string) {
	inventory := s.newInventory(n)
	inventory.OwnAPIServer = slices.Contains(components, "local")
	inventory.StaticPods = slices.DeleteFunc(components, func(c string) bool { return c == "local" })
	s.Inventories = append(s.Inventories, inventory)
}

// newInventory returns an inventory of the node, in place of the one that it has.
func (s *sim) newInventory(n *clusterstate.Node) v1alpha1.NodeInventory {
	s.Inventories = slices.DeleteFunc(s.Inventories, func(i v1alpha1.NodeInventory) bool { return i.Name == n.Name })
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: types.UID(n.UID)}
	return v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: n.Name, OwnerReferences: []metav1.OwnerReference{owner}}}
}

// rehearse sets what the rehearsal of a boot with a version found on the node; nothing if the message is empty.
func (s *sim) rehearse(n *clusterstate.Node, version string, cause v1alpha1.RehearsalCause, message string) {
	inventory, rehearsal := s.newInventory(n), v1alpha1.Rehearsal{Version: version}
	if message != "" {
		problem := v1alpha1.Problem{Reason: v1alpha1.NothingMerges, Message: message}
		rehearsal.Problems = []v1alpha1.RehearsalProblem{{Problem: problem, Cause: cause}}
	}
	inventory.Rehearsals = []v1alpha1.Rehearsal{rehearsal}
	s.Inventories = append(s.Inventories, inventory)
}

// oldSystemd makes the node's systemd one that cannot soft-reboot.
func (s *sim) oldSystemd(node string) {
	inventory := v1alpha1.NodeInventory{ObjectMeta: metav1.ObjectMeta{Name: node}}
	inventory.SoftRebootBlocker = &v1alpha1.Problem{Reason: v1alpha1.SystemdTooOld, Message: "systemd is 252, and a soft reboot takes 256 or later"}
	s.Inventories = append(s.Inventories, inventory)
}

// mounted reports whether something keeps the node from another method than a reboot.
func (s *sim) mounted(node string) bool {
	return slices.ContainsFunc(s.Inventories, func(i v1alpha1.NodeInventory) bool { return i.Name == node })
}

// record returns the node records of an upgrade that has ended.
func (s *sim) record(upgrade string) []v1alpha1.NodeRecord {
	var nodes []v1alpha1.NodeRecord
	for _, r := range s.Records {
		if r.Spec.Upgrade.Name == upgrade {
			nodes = append(nodes, r.Spec.Nodes...)
		}
	}
	return nodes
}
