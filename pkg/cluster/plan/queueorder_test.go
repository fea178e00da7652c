package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// checkQueue panics if Queue and the plan disagree about the upgrades that have not
// ended. Every simulation calls it.
func checkQueue(s clusterstate.Snapshot, now time.Time, p plan.Plan) {
	queue := plan.Queue(s, now)
	for _, u := range queue {
		if u.ClusterUpgrade == nil || u.Status.Outcome != "" {
			panic(fmt.Sprintf("the queue has an upgrade that is not there, or that has ended: %+v", u))
		}
	}
	if len(queue) > 0 && queue[0].Name != p.Statuses[0].Name {
		panic(fmt.Sprintf("the first of the queue is %s, and the plan reports %s as active", queue[0].Name, p.Statuses[0].Name))
	}
}

// TestQueueOrder has the cases in which the plugin's order once differed from the
// coordinator's.
func TestQueueOrder(t *testing.T) {
	for name, test := range map[string]struct{ commands, want string }{
		"an upgrade to a version goes before a Reboot that no node works for": {
			"upgrade r type=Reboot\nupgrade u v1.34.4", "u r"},
		"a Reboot that a node works for goes on": {
			"upgrade r type=Reboot\nask w1\ntick 4\nupgrade u v1.34.4", "r u"},
		"a retry takes the place of the failed upgrade": {
			"upgrade f v1.34.4\nupgrade later v1.34.5\nupgrade again v1.34.4 retry=f", "f(again) again later"},
		"a retry goes before an upgrade that was created in the same second as the failed one": {
			"upgrade f v1.34.4\nsame second\nupgrade later v1.34.5\nupgrade again v1.34.4 retry=f", "f(again) again later"},
		"an upgrade that is being deleted is left out": {
			"upgrade a v1.34.4\nupgrade b v1.34.5\ndeleted a", "b"},
		"a suspended upgrade is passed over": {
			"upgrade a v1.34.4 suspend\nupgrade b v1.34.5", "b a-"},
		"an upgrade whose version is not on offer is passed over": {
			"upgrade a v1.34.9\nupgrade b v1.34.5", "b a-"},
		"an upgrade that cannot begin yet does not hold the next one": {
			"upgrade a v1.34.4 start=2026-12-24T18:00:00Z\nupgrade b v1.34.5", "b a-"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{sim: newSim(time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC))}
			var out strings.Builder
			base := "node cp1 v1.34.3 control-plane\nnode w1 v1.34.3\nsource v1.34.4 v1.34.5\nschedule a 2026-01-01T00:00:00Z 2026-01-02T00:00:00Z rule=FREQ=DAILY\ntick 4\n"
			for line := range strings.Lines(base + test.commands) {
				words := strings.Fields(line)
				var err error
				switch words[0] {
				case "ask":
					askForReboot(&s.nodeUpgrade("w1", s.node("w1").UID).Status, true)
				case "deleted":
					s.upgrade(words[1]).DeletionTimestamp = &metav1.Time{Time: s.now}
				case "same":
					s.now = s.now.Add(-2 * time.Second)
				default:
					err = s.run(&out, words)
				}
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				s.now = s.now.Add(time.Second)
			}
			var got []string
			for _, u := range plan.Queue(s.Snapshot, s.now) {
				text := u.Name
				if u.RetriedBy != nil {
					text += "(" + u.RetriedBy.Name + ")"
				}
				if u.CannotProceed {
					text += "-"
				}
				got = append(got, text)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %q, want %q", strings.Join(got, " "), test.want)
			}
		})
	}
}
