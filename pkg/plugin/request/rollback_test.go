package request

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// ranBefore returns the cluster, which has run v1.34.2 and v1.34.3, and these upgrades. Its nodes
// have their labels of hostnames.
func ranBefore(upgrades ...v1alpha1.ClusterUpgrade) clusterstate.Snapshot {
	s := cluster(upgrades...)
	for i := range s.Nodes {
		s.Nodes[i].Labels = map[string]string{"kubernetes.io/hostname": s.Nodes[i].Name, "pool": s.Nodes[i].Name[:1]}
	}
	digests := []v1alpha1.ImageDigest{{Architecture: "amd64", Digest: v1alpha1.DigestOf(strings.Repeat("0", 64))}}
	for _, version := range []string{"v1.34.3", "v1.34.2"} {
		s.Policy.Status.Ran = append(s.Policy.Status.Ran, v1alpha1.RanVersion{Version: version, Digests: digests})
	}
	return s
}

// altered returns the snapshot after a change.
func altered(s clusterstate.Snapshot, change func(*clusterstate.Snapshot)) clusterstate.Snapshot {
	change(&s)
	return s
}

// running sets what w-1 runs.
func running(version string) func(*clusterstate.Snapshot) {
	return func(s *clusterstate.Snapshot) {
		s.Nodes[1].Kubelet, s.NodeUpgrades[1].Status.Versions.Kubelet = version, version
	}
}

// labeled sets a label of w-1.
func labeled(key, value string) func(*clusterstate.Snapshot) {
	return func(s *clusterstate.Snapshot) { s.Nodes[1].Labels[key] = value }
}

// left sets what w-1 runs, which a person has abandoned.
func left(version string) func(*clusterstate.Snapshot) {
	return func(s *clusterstate.Snapshot) {
		running(version)(s)
		s.NodeUpgrades[1].Abandoned = &v1alpha1.Abandoned{Comment: "off"}
	}
}

func completed(at time.Time) func(*v1alpha1.ClusterUpgrade) {
	return func(u *v1alpha1.ClusterUpgrade) { u.Status.EndTime = &metav1.Time{Time: at} }
}

func takingBack(nodes ...string) func(*v1alpha1.ClusterUpgrade) {
	return func(u *v1alpha1.ClusterUpgrade) {
		u.Spec.Type, u.Spec.Version, u.Spec.Comment = v1alpha1.TypeRollback, strings.TrimPrefix(u.Name, "rollback-"), "it crashes"
		if len(nodes) > 0 {
			u.Spec.NodeSelector, _ = Upgrade{Nodes: nodes}.selector(ranBefore())
		}
	}
}

// TestRollback is the table of what `kubectl upgrade rollback` does, as TestRequest is that of apply.
func TestRollback(t *testing.T) {
	const newest = "The newest patch before v1.34.4 that this cluster ran is v1.34.3. | "
	back := func(nodes ...string) Upgrade {
		return Upgrade{Type: v1alpha1.TypeRollback, Nodes: nodes, Reason: "it crashes", Flags: []string{"--reason"}}
	}
	to := func(version string, r Upgrade) Upgrade {
		r.Version = version
		return r
	}
	retry := func(r Upgrade) Upgrade {
		r.Retry = true
		return r
	}
	for name, test := range map[string]struct {
		s    clusterstate.Snapshot
		r    Upgrade
		want string
	}{
		"all nodes":         {ranBefore(), back(), newest + "creates rollback-v1.34.3"},
		"one node":          {ranBefore(), back("w-1"), newest + "creates rollback-v1.34.3"},
		"to a version":      {ranBefore(), to("v1.34.2", back()), "creates rollback-v1.34.2"},
		"the name is taken": {ranBefore(upgrade("rollback-v1.34.3", takingBack("w-1"), ended(v1alpha1.OutcomeSucceeded))), back(), newest + "creates rollback-v1.34.3-2"},
		"what ran is blocked": {altered(ranBefore(), func(s *clusterstate.Snapshot) {
			s.Policy.Spec.BlockedVersions = []v1alpha1.BlockedVersion{{Version: "v1.34.3"}}
		}), back(), "The newest patch before v1.34.4 that this cluster ran is v1.34.2. | creates rollback-v1.34.2"},
		"of records":                        {altered(ranBefore(), forgetRan(v1alpha1.UpgradeRecord{Spec: v1alpha1.UpgradeRecordSpec{UpgradeSummary: v1alpha1.UpgradeSummary{Version: "v1.34.4", FromVersion: "v1.34.1", Outcome: v1alpha1.OutcomeSucceeded}}}, "v1.34.1", "v1.34.3")), back(), "The newest patch before v1.34.4 that this cluster ran is v1.34.1. | creates rollback-v1.34.1"},
		"of records, but no longer offered": {altered(ranBefore(), forgetRan(v1alpha1.UpgradeRecord{Spec: v1alpha1.UpgradeRecordSpec{UpgradeSummary: v1alpha1.UpgradeSummary{FromVersion: "v1.34.1"}}}, "v1.34.0")), back(), "The newest patch before v1.34.4 that the source offers is v1.34.0. | creates rollback-v1.34.0"},
		"of the source":                     {altered(ranBefore(), forgetRan(v1alpha1.UpgradeRecord{}, "v1.34.1", "v1.34.0", "v1.34.2-rc.0", "v1.33.9")), back(), "The newest patch before v1.34.4 that the source offers is v1.34.1. | creates rollback-v1.34.1"},
		"nothing is known":                  {altered(ranBefore(), forgetRan(v1alpha1.UpgradeRecord{})), back(), "error: no patch of v1.34 before v1.34.4 is known that this cluster ran or the source offers: say which, as in --to v1.34.0"},
		"different versions":                {altered(ranBefore(), running("v1.34.3")), back(), newest + "creates rollback-v1.34.3"},
		"in the middle of an upgrade":       {altered(ranBefore(upgrade("v1.34.4", triggered)), running("v1.34.1")), back(), newest + "creates rollback-v1.34.3, ends v1.34.4"},
		"in the middle of the first one":    {altered(altered(ranBefore(upgrade("v1.34.4", triggered)), forgetRan(v1alpha1.UpgradeRecord{}, "v1.34.0", "v1.34.1")), running("v1.34.0")), back(), "The newest patch before v1.34.4 that this cluster ran is v1.34.0. | creates rollback-v1.34.0, ends v1.34.4"},
		"in the middle of a minor":          {altered(ranBefore(upgrade("v1.35.4", triggered)), running("v1.35.4")), back(), "The newest patch before v1.35.4 that the source offers is v1.35.0. | creates rollback-v1.35.0, ends v1.35.4"},
		"in the middle of a minor's first":  {altered(ranBefore(upgrade("v1.35.0", triggered)), running("v1.35.0")), back(), "error: v1.35.0 is the first patch of its minor, and a kubelet is taken back within its minor only"},
		"no version is known":               {altered(altered(ranBefore(), running("?")), func(s *clusterstate.Snapshot) { s.Nodes[0].Kubelet = "?" }), back(), "error: no managed node reports its kubelet's version: say with --to to which version they are taken back"},
		"what has just succeeded":           {ranBefore(upgrade("v1.34.4", ended(v1alpha1.OutcomeSucceeded), completed(now))), back(), newest + "creates rollback-v1.34.3"},
		"what succeeded by a clock ahead":   {ranBefore(upgrade("v1.34.4", ended(v1alpha1.OutcomeSucceeded), completed(now.Add(time.Minute)))), back(), newest + "creates rollback-v1.34.3"},
		"a node that is left out":           {altered(ranBefore(), left("v1.34.4")), back("w-1"), newest + "error: no node can be taken back to v1.34.3 now: node w-1 runs v1.34.4 and is left out: Abandoned: abandoned: off; left out until its agent reports again and the node is Ready"},
		"all but one that is left out":      {altered(ranBefore(), left("v1.34.9")), back(), newest + "creates rollback-v1.34.3"},
		"to one of them":                    {altered(ranBefore(), running("v1.34.3")), to("v1.34.3", back()), "creates rollback-v1.34.3"},
		"one of them":                       {altered(ranBefore(), running("v1.34.3")), back("cp-1"), newest + "creates rollback-v1.34.3"},
		"no image is known":                 {altered(ranBefore(), forgetRan(v1alpha1.UpgradeRecord{})), to("v1.34.3", back()), "error: the coordinator would not begin with it: NotOffered: the source does not offer v1.34.3 for amd64, and no upgrade of this cluster has recorded its digest: publish the image again"},
		"no such node":                      {ranBefore(), back("w-9"), `error: there is no node "w-9"; ` + "`kubectl upgrade status` lists them"},
		"no hostname":                       {altered(ranBefore(), labeled("kubernetes.io/hostname", "")), back("w-1"), "error: node w-1 has no label kubernetes.io/hostname, by which it is selected: `kubectl label node w-1 kubernetes.io/hostname=w-1`"},
		"the hostname of both":              {altered(ranBefore(), labeled("kubernetes.io/hostname", "cp-1")), back("w-1"), "error: node w-1 cannot be selected alone: node cp-1 has its label kubernetes.io/hostname=cp-1, too"},
		"an unmanaged node":                 {altered(ranBefore(), managing("c")), to("v1.34.3", back("w-1")), "error: node w-1 is not managed: the UpgradePolicy's nodeSelector does not match it, or it does not get Kubernetes as a sysext image"},
		"all that are managed":              {altered(altered(ranBefore(), managing("c")), running("v1.35.1")), back(), newest + "creates rollback-v1.34.3"},
		"not newer":                         {ranBefore(), to("v1.34.4", back("cp-1", "w-1")), "error: node cp-1 runs v1.34.4, which is not newer than v1.34.4: there is nothing to take back; node w-1 runs v1.34.4, which is not newer than v1.34.4: there is nothing to take back"},
		"no node is newer":                  {ranBefore(), to("v1.34.9", back()), "error: no managed node runs a newer patch of v1.34 than v1.34.9: there is nothing to take back"},
		"another minor":                     {ranBefore(), to("v1.33.9", back("w-1")), "error: node w-1 runs v1.34.4, and a kubelet is taken back within its minor only, not to v1.33.9"},
		"all of another minor":              {ranBefore(), to("v1.33.9", back()), "error: node cp-1 runs v1.34.4, and a kubelet is taken back within its minor only, not to v1.33.9: name the nodes instead of --all"},
		"a node on hold":                    {altered(ranBefore(), labeled(v1alpha1.HoldLabel, "")), back("w-1"), newest + "error: node w-1 is on hold: `kubectl label node w-1 kubectl-upgrade.dev/hold-` first"},
		"it ends an upgrade":                {ranBefore(upgrade("v1.34.5", triggered), upgrade("v1.35.0"), upgrade("v1.34.3-old")), back(), newest + "creates rollback-v1.34.3, ends v1.34.5"},
		"a node works for it":               {work(ranBefore(upgrade("v1.34.5", triggered))), back("cp-1"), newest + "creates rollback-v1.34.3, ends v1.34.5"},
		"a node works for more":             {work(ranBefore(upgrade("reboot", triggered))), back(), newest + "ClusterUpgrade reboot is at work on a node and comes before it; this plan leaves that out. | creates rollback-v1.34.3"},
		"it takes the place":                {ranBefore(upgrade("v1.34.5", failed)), back(), newest + "creates rollback-v1.34.3, ends v1.34.5"},
		"another has failed":                {work(ranBefore(upgrade("reboot", failed))), back(), newest + "error: ClusterUpgrade reboot has failed (node w-1 failed) and is still active, so this one would wait behind it: fix that, or add --retry to replace it"},
		"the same again":                    {ranBefore(upgrade("rollback-v1.34.3", takingBack())), back(), "is rollback-v1.34.3"},
		"the same, half done":               {altered(ranBefore(upgrade("rollback-v1.34.3", takingBack())), running("v1.34.3")), back(), "is rollback-v1.34.3"},
		"another reason":                    {ranBefore(upgrade("rollback-v1.34.3", takingBack())), Upgrade{Type: v1alpha1.TypeRollback, Reason: "slow", Flags: []string{"--reason"}}, "error: ClusterUpgrade rollback-v1.34.3 asks for v1.34.3 already, and --reason would change it: leave that out to follow it, or `kubectl edit clusterupgrade rollback-v1.34.3`"},
		"other nodes":                       {ranBefore(upgrade("rollback-v1.34.3", takingBack("w-1"))), back("cp-1"), newest + "ClusterUpgrade rollback-v1.34.3 has not ended and comes before it; this plan leaves that out. | creates rollback-v1.34.3-2"},
		"the same nodes":                    {ranBefore(upgrade("rollback-v1.34.3", takingBack("w-1", "cp-1"))), back("cp-1", "w-1"), "is rollback-v1.34.3"},
		"it has failed, retry":              {ranBefore(upgrade("rollback-v1.34.3", takingBack(), failed)), retry(back()), "creates rollback-v1.34.3-2 retryOf rollback-v1.34.3"},
		"the last one failed":               {ranBefore(upgrade("rollback-v1.34.3", takingBack(), ended(v1alpha1.OutcomeFailed))), back(), newest + "error: the last upgrade to v1.34.3, rollback-v1.34.3, ended: Failed: see `kubectl upgrade history rollback-v1.34.3`, and add --retry to start again"},
		"of others":                         {ranBefore(upgrade("rollback-v1.34.3", takingBack("w-1"), ended(v1alpha1.OutcomeFailed))), back(), newest + "creates rollback-v1.34.3-2"},
		"a freeze":                          {altered(ranBefore(), func(s *clusterstate.Snapshot) { s.Schedules = frozen(now.AddDate(0, 0, 1)).Schedules }), back(), newest + "error: exclusion f/freeze holds until 2026-11-19 12:00 UTC: audit; wait until it ends, give a --start-time after it, or end it: `kubectl upgrade unfreeze f`"},
		// What apply does beside a Rollback.
		"an upgrade to its version": {ranBefore(upgrade("rollback-v1.34.5", takingBack())), Upgrade{Version: "v1.34.5"}, "creates v1.34.5"},
		"an upgrade to its minor":   {ranBefore(upgrade("rollback-v1.34.5", takingBack())), Upgrade{Version: "v1.34"}, "v1.34 is v1.34.10, its newest patch. | creates v1.34.10"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := answer(test.s, test.r); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// forgetRan leaves only that record, and has the source offer these versions besides.
func forgetRan(record v1alpha1.UpgradeRecord, offered ...string) func(*clusterstate.Snapshot) {
	return func(s *clusterstate.Snapshot) {
		s.Policy.Status.Ran = nil
		s.Records = []v1alpha1.UpgradeRecord{record}
		for _, version := range offered {
			architecture := v1alpha1.Architecture("amd64")
			if version == "v1.34.3" { // no image for these nodes
				architecture = "arm64"
			}
			s.Source.Offers = append(s.Source.Offers, clusterstate.Offer{Version: version, Image: v1alpha1.Image{Architecture: architecture}})
		}
	}
}

func managing(pool string) func(*clusterstate.Snapshot) {
	return func(s *clusterstate.Snapshot) {
		s.Policy.Spec.NodeSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": v1alpha1.LabelValue(pool)}}
	}
}

// TestRollbackObject checks the object that is created for a Rollback of some nodes.
func TestRollbackObject(t *testing.T) {
	r := Upgrade{Type: v1alpha1.TypeRollback, Nodes: []string{"w-1", "cp-1", "w-1"}, Reason: "it crashes", IgnoreWindows: true}
	to, _ := version.Parse("v1.34.3")
	u, err := r.Object(ranBefore(), to, now)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(u.Spec.Type, u.Spec.Version, u.Spec.Comment, u.Spec.WindowPolicy, *u.Spec.NodeSelector)
	if want := "Rollbackv1.34.3it crashesIgnore{map[] [{kubernetes.io/hostname In [cp-1 w-1]}]}"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestOnlyOlderUpgradesAreTakenBack checks that an upgrade that was requested after the Rollback is
// not among those that it ends.
func TestOnlyOlderUpgradesAreTakenBack(t *testing.T) {
	s := ranBefore(upgrade("v1.34.5"), upgrade("rollback-v1.34.3", takingBack()), upgrade("v1.34.10"))
	if got := TakesBack(s, &s.Upgrades[1]); len(got) != 1 || got[0].Name != "v1.34.5" {
		t.Errorf("got %d upgrades, want v1.34.5", len(got))
	}
	s.Upgrades[1].CreationTimestamp = metav1.NewTime(now.Add(time.Hour))
	if got := TakesBack(s, &s.Upgrades[1]); len(got) != 2 {
		t.Errorf("got %d upgrades, want 2", len(got))
	}
}
