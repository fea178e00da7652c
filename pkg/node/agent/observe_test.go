package agent

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/kubetest"
)

func TestStepEvent(t *testing.T) {
	for name, test := range map[string]struct {
		t    Transition
		want Event
	}{
		"on its way": {
			Transition{Version: "v1.34.4", To: v1alpha1.StepCordoning},
			Event{"Normal", "UpgradeCordoning", "v1.34.4: the node is cordoned"},
		},
		"what goes wrong is a warning, with the reason code": {
			Transition{Version: "v1.34.4", To: v1alpha1.StepAborting, Reason: v1alpha1.ReasonDrainTimeout, Message: "not drained within 15m"},
			Event{"Warning", "UpgradeAborting", "v1.34.4: the node aborts its attempt (DrainTimeout: not drained within 15m)"},
		},
		"without a version": {
			Transition{To: v1alpha1.StepIdle},
			Event{"Normal", "UpgradeIdle", "the node is idle"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, StepEvent(test.t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	Transition{Node: "w1", From: v1alpha1.StepDraining, To: v1alpha1.StepFailed, Reason: "X", Took: 1500 * time.Microsecond}.Log(context.Background(), log)
	for _, want := range []string{"level=WARN", `msg="step Failed"`, "node=w1", "from=Draining", "took=2ms", "reason=X"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, out.String())
		}
	}
}

// TestEveryEventArrives checks that no event of a step is dropped or merged into another, though
// an upgrade has more events than client-go's usual burst.
func TestEveryEventArrives(t *testing.T) {
	client := fake.NewClientset()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	recorder := NewRecorder(ctx, kubetest.Of(client).Events(), "node-agent", "w1")
	sent := 0
	for range 2 {
		for _, info := range v1alpha1.Steps {
			recorder.Record("uid", StepEvent(Transition{Version: "v1.34.4", To: info.Step}))
			sent++
		}
	}
	arrived := 0
	for range 200 {
		list, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		arrived = 0
		for _, e := range list.Items {
			if e.InvolvedObject.UID != "uid" || e.InvolvedObject.Kind != "Node" {
				t.Fatalf("event on %+v", e.InvolvedObject)
			}
			arrived += int(e.Count)
		}
		if arrived == sent {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d of %d events arrived", arrived, sent)
}
