//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/record"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/scenario"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// soakTime is how long a cluster has to have run a version before the other one takes it.
const soakTime = 45 * time.Second

// TestFleet has two clusters with one source of images, and each follows the other one in turn: staging has
// real nodes, and those of prod are pretended (bin/play). What failed in the leader, what it has not soaked,
// what it took back, and another image under the same version, do not reach the follower.
func TestFleet(t *testing.T) {
	f := &chain{staging: newCluster(t, 1, 1), folder: t.TempDir(), cleanup: t.Cleanup}
	f.staging.apply(t, scenario.OpenSchedule)
	f.prod = startPretended(t, f.staging, f.cleanup)
	f.join(t)
	for _, step := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"prod follows staging", f.follow},
		{"a broken image fails in staging, and does not reach prod", f.broken},
		{"another image under the same version does not reach prod", f.republished},
		{"prod runs the image that staging has soaked", f.soaked},
		{"what staging takes back does not reach a cluster that follows it", f.takenBack},
		{"staging follows prod", f.turn},
		{"staging waits while prod cannot be read", f.partition},
		{"staging runs what prod has soaked", f.other},
		{"the promises held at every moment", f.promises},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// chain is two clusters, and a kubeconfig with a context for each.
type chain struct {
	staging, prod *testCluster
	all           scenario.Lab
	road          *forwarder   // from staging to prod
	turned        time.Time    // when staging became the follower
	folder        string       // of the kubeconfig
	cleanup       func(func()) // of the whole test
}

// join writes the kubeconfig of both clusters.
func (f *chain) join(t *testing.T) {
	t.Helper()
	f.all = f.staging.Lab
	f.all.Kubeconfig = filepath.Join(f.folder, "kubeconfig")
	mergeKubeconfigs(t, f.all.Kubeconfig, map[string]string{"staging": f.staging.Kubeconfig, "prod": f.prod.Kubeconfig})
}

// upgrade runs `kubectl upgrade` with the contexts of both clusters.
func (f *chain) upgrade(t *testing.T, args ...string) {
	t.Helper()
	out := f.staging.must(t)(f.all.Upgrade(f.staging.ctx, args...))
	t.Logf("$ kubectl upgrade %s\n%s", strings.Join(args, " "), out)
}

// publish offers a version to both clusters.
func (f *chain) publish(t *testing.T, args ...string) {
	t.Helper()
	f.staging.must(t)(f.staging.Lab.Lab(f.staging.ctx, append([]string{"publish"}, args...)...))
	time.Sleep(indexRead)
}

// awaitRow waits until the row of a cluster in `kubectl upgrade fleet status -o wide` says something.
func (f *chain) awaitRow(t *testing.T, cluster, words string) {
	t.Helper()
	f.staging.eachSecond(t, 3*time.Minute, fmt.Sprintf("fleet status says of %s: %s", cluster, words), func() error {
		rows, _ := f.all.Upgrade(f.staging.ctx, "fleet", "status", "--contexts", "staging,prod", "-o", "wide") // the exit code says what failed
		for _, row := range strings.Split(rows, "\n") {
			if strings.HasPrefix(row, cluster+" ") && regexp.MustCompile(words).MatchString(row) {
				t.Log("\n" + rows)
				return nil
			}
		}
		return fmt.Errorf("it says\n%s", rows)
	})
}

func (f *chain) follow(t *testing.T) {
	f.upgrade(t, "follow", "--context", "prod", "--leader-context", "staging", "--soak", soakTime.String())
	f.prod.patchPolicy(t, `{"automatic":[{"type":"Patch"}]}`)
	f.publish(t, to)
	f.awaitRow(t, "prod", "NotSoaked.*has not run "+to)
	f.prod.checkUndisturbed(t, 20*time.Second)
}

func (f *chain) broken(t *testing.T) {
	f.publish(t, to, "--broken", "crash")
	out, err := f.all.Upgrade(f.staging.ctx, "apply", "--context", "staging", to, "--yes")
	if err == nil {
		t.Fatalf("the upgrade to a broken image has succeeded: %s", out)
	}
	f.awaitRow(t, "staging", "RolledBack")
	f.awaitRow(t, "prod", "NotSoaked.*has a problem with "+to)
	f.prod.checkUndisturbed(t, soakTime+20*time.Second)
}

// republished upgrades staging to an image, and offers another one under its version before it has soaked.
func (f *chain) republished(t *testing.T) {
	f.publish(t, to)
	f.upgrade(t, "apply", "--context", "staging", to, "--retry", "--yes")
	f.publish(t, to, "--broken", "late")
	f.awaitRow(t, "prod", "NotSoaked.*with another image for amd64")
	f.prod.checkUndisturbed(t, soakTime+20*time.Second)
}

func (f *chain) soaked(t *testing.T) {
	f.publish(t, to)
	f.prod.eventually(t, 3*time.Minute, "every node of prod runs "+to, f.prod.everyNodeDone)
	f.checkSoaked(t, f.prod, f.staging, time.Time{})
	f.upgrade(t, "history", "--context", "prod")
}

// checkSoaked checks that the follower's upgrade since then began once the leader had run the version long
// enough, and that both have run the same images.
func (f *chain) checkSoaked(t *testing.T, follower, leader *testCluster, since time.Time) {
	t.Helper()
	lead, here := leader.ran(t, to), follower.ran(t, to)
	began := follower.firstBeginning(t, since)
	if opened := lead.SinceTime.Add(soakTime); began.Before(opened) {
		t.Errorf("the first node of the follower began at %s, and the version had soaked at %s", began, opened)
	}
	if !slices.Equal(lead.Digests, here.Digests) || len(here.Digests) == 0 {
		t.Errorf("the leader has run %v, and the follower %v", lead.Digests, here.Digests)
	}
	t.Logf("the leader ran %s since %s, the follower began at %s with %v", to, lead.SinceTime.UTC(), began, here.Digests)
}

// takenBack takes the patch back in staging. A new prod, which still runs the former patch, follows it.
func (f *chain) takenBack(t *testing.T) {
	f.promises(t)
	f.prod = startPretended(t, f.staging, f.cleanup)
	f.join(t)
	f.upgrade(t, "rollback", "--context", "staging", "--all", "--to", from, "--reason", "volumes get lost", "--yes")
	f.upgrade(t, "follow", "--context", "prod", "--leader-context", "staging", "--soak", "0s")
	f.prod.patchPolicy(t, `{"automatic":[{"type":"Patch"}]}`)
	f.awaitRow(t, "prod", "NotSoaked.*blocks "+to+".*volumes get lost")
	f.prod.checkUndisturbed(t, 20*time.Second)
}

// turn makes staging the follower. An upgrade of it that a person requests waits for prod.
func (f *chain) turn(t *testing.T) {
	f.turned = time.Now()
	f.prod.patchPolicy(t, `{"automatic":[]}`)
	f.upgrade(t, "follow", "--context", "prod", "--leader-context", "staging", "--undo")
	f.road = startForwarder(t, f.cleanup, network.Host, strings.TrimPrefix(f.prod.config.Host, "https://"))
	f.upgrade(t, "follow", "--context", "staging", "--leader-context", "prod", "--soak", soakTime.String(), "--leader-server", "https://"+f.road.address)
	f.upgrade(t, "apply", "--context", "staging", to, "--ignore-check", "version-blocked=the volumes were not its fault", "--yes", "--detach")
	f.awaitRow(t, "staging", "NotSoaked.*has not run "+to)
	f.staging.checkNothingBegins(t, 20*time.Second)
}

func (f *chain) partition(t *testing.T) {
	f.road.cut()
	f.awaitRow(t, "staging", "ExternalGateUnknown.*gate prod cannot be asked")
	f.upgrade(t, "apply", "--context", "prod", to, "--yes")
	f.staging.checkNothingBegins(t, soakTime+20*time.Second)
	f.road.mend(t)
}

func (f *chain) other(t *testing.T) {
	f.staging.eventually(t, 15*time.Minute, "every node of staging runs "+to, func() error {
		for _, name := range f.staging.nodes {
			if err := f.staging.runs(name, to); err != nil {
				return err
			}
		}
		return nil
	})
	f.staging.eventually(t, 3*time.Minute, "the upgrade has ended", f.staging.everyNodeDone)
	f.checkSoaked(t, f.staging, f.prod, f.turned)
	f.upgrade(t, "fleet", "report", "--contexts", "staging,prod", "-o", "wide")
}

func (f *chain) promises(t *testing.T) {
	for _, c := range []*testCluster{f.staging, f.prod} {
		c.report(t)(record.Promises(c.recorder.Moments(), 1))
		c.report(t)(record.Skew(c.recorder.Moments()))
	}
}

// ran returns what a cluster says of a version that it has run, once it says that every node does.
func (c *testCluster) ran(t *testing.T, version string) (found v1alpha1.RanVersion) {
	t.Helper()
	c.eachSecond(t, time.Minute, "the cluster says that every node runs "+version, func() error {
		policy, err := c.ours.UpgradePolicies.Get(c.ctx, v1alpha1.PolicyName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, one := range policy.Status.Ran {
			if one.Version == version && one.SinceTime != nil {
				found = one
				return nil
			}
		}
		return fmt.Errorf("it says %+v", policy.Status.Ran)
	})
	return found
}

// firstBeginning returns when the first node began anything since then.
func (c *testCluster) firstBeginning(t *testing.T, since time.Time) time.Time {
	t.Helper()
	beginnings, err := record.Beginnings(c.recorder.Moments())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range beginnings {
		if one.Seen.After(since) {
			return one.Seen
		}
	}
	t.Fatalf("no node has begun anything since %s", since)
	return time.Time{}
}
