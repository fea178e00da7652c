package watch

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// TestGoesOn checks what is said of an upgrade that is not followed any more, below the screen and after Ctrl-C: that it
// continues only where it does.
func TestGoesOn(t *testing.T) {
	suspended := upgrade("")
	suspended.Spec.Suspend = true
	stalled := upgrade("", condition(v1alpha1.ConditionStalled, v1alpha1.ReasonNodeFailed))
	running, ended := upgrade(""), upgrade(v1alpha1.OutcomeFailed)
	for name, test := range map[string]struct {
		u         *v1alpha1.ClusterUpgrade
		want      string
		continues bool
	}{
		"none":          {nil, "no upgrade is active", false},
		"it is at work": {&running, "the upgrade u continues: `kubectl upgrade status -w` follows it, and `kubectl upgrade suspend u` pauses it", true},
		"suspended":     {&suspended, "the upgrade u is suspended: `kubectl upgrade resume u` resumes it", false},
		"stalled":       {&stalled, "the upgrade u waits for a person: `kubectl upgrade status` says why", false},
		"ended":         {&ended, "the upgrade u has ended: Failed", false},
	} {
		u := view.NewUpgrade(test.u)
		if got := GoesOn(u); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
		var out bytes.Buffer
		f := Frame{Picture: "nodes\n"}
		if u != nil {
			f.Progress = &view.Progress{Upgrade: *u}
		}
		newTestScreen(&out, 20).Show(f)
		text := strings.Join(strings.Fields(out.String()), " ")
		if got := strings.Contains(text, "not the upgrade"); got != test.continues || strings.Contains(text, "suspend u`") != test.continues {
			t.Errorf("%s: the screen says that the upgrade continues: %t, want %t: %q", name, got, test.continues, text)
		}
	}
}

// TestFollowedIsLastKnown checks that a Watcher which is interrupted knows how the upgrade stood.
func TestFollowedIsLastKnown(t *testing.T) {
	f, _, first := newWatcher(t)
	first.Upgrades[0].Spec.Suspend = true
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := f.Run(ctx, first); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if u := f.Followed(); u == nil || u.Name != "u" {
		t.Errorf("got %+v, want the upgrade that was followed", u)
	}
}
