package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
)

// olderCRDs is an API server whose CRDs lack fields, and which answers as a real one does.
type olderCRDs struct {
	lacks []string
	wrote []map[string]any
	asked int
}

func (o *olderCRDs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.asked++
	text, _ := io.ReadAll(r.Body)
	var object map[string]any
	_ = json.Unmarshal(text, &object)
	var refused []string
	for _, field := range o.lacks {
		if at(object, field) != nil {
			refused = append(refused, "."+field+": field not declared in schema")
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if len(refused) == 0 {
		o.wrote = append(o.wrote, object)
		_, _ = w.Write(text)
		return
	}
	message := refused[0]
	if len(refused) > 1 {
		message = "errors:\n  " + strings.Join(refused, "\n  ")
	}
	w.WriteHeader(http.StatusInternalServerError)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Message: fmt.Sprintf("failed to create typed patch object (/w1; kubectl-upgrade.dev/v1alpha1, Kind=NodeUpgrade): %s", message),
	})
}

// at returns what a path of an object leads to; nil: nothing.
func at(object any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		fields, _ := object.(map[string]any)
		object = fields[name]
	}
	return object
}

// TestUndeclaredFieldsAreLeftOut writes statuses to API servers whose CRDs lack fields: what people read is left out until
// the CRDs may have come, and what decides how the agent goes on is not.
func TestUndeclaredFieldsAreLeftOut(t *testing.T) {
	status := v1alpha1.NodeUpgradeStatus{
		Step: v1alpha1.StepRebooting, Versions: v1alpha1.NodeVersions{From: "v1.34.3"}, MethodMessage: "why",
		Reboot:    v1alpha1.NodeReboot{FromBootID: "b", Message: "why"},
		Steps:     []v1alpha1.StepTime{{Step: v1alpha1.StepRebooting, StartTime: metav1.NewMicroTime(time.Date(2026, 11, 30, 1, 0, 0, 123456789, time.Local))}},
		Rehearsal: &v1alpha1.RehearsalOutcome{Result: v1alpha1.RehearsalPassed},
	}
	for name, test := range map[string]struct {
		lacks   []string
		without []string
		refused bool
	}{
		"all fields":                       {nil, nil, false},
		"a new part":                       {[]string{"status.rehearsal"}, []string{"status.rehearsal"}, false},
		"two sentences":                    {[]string{"status.reboot.message", "status.methodMessage"}, []string{"status.reboot.message", "status.methodMessage"}, false},
		"what a restarted agent must know": {[]string{"status.reboot.fromBootID"}, nil, true},
		"both":                             {[]string{"status.rehearsal", "status.step"}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			crds := &olderCRDs{lacks: test.lacks}
			server := httptest.NewServer(crds)
			defer server.Close()
			kinds, err := kube.NewKinds(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			now := time.Date(2026, 11, 30, 1, 0, 0, 0, time.UTC)
			p := &reportSense{Config: &Config{Node: "w1", Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}}
			write := func() error {
				out := &v1alpha1.NodeUpgrade{ObjectMeta: metav1.ObjectMeta{Name: "w1"}, Status: *status.DeepCopy()}
				_, err := applyDeclared(t.Context(), p, kinds.NodeUpgrades, out, "status", &p.statusLacks, func(w *v1alpha1.NodeUpgrade) bool { return decides(status, w.Status) })
				return err
			}
			if err := write(); (err != nil) != test.refused {
				t.Fatalf("got %v", err)
			}
			if test.refused {
				return
			}
			for _, field := range []string{"status.step", "status.reboot.fromBootID", "status.reboot.message", "status.methodMessage", "status.rehearsal"} {
				if left := at(crds.wrote[0], field) == nil; left != slices.Contains(test.without, field) {
					t.Errorf("%s was left out: %t", field, left)
				}
			}
			before := crds.asked
			if err := write(); err != nil || crds.asked != before+1 {
				t.Errorf("the second write took %d requests: %v", crds.asked-before, err)
			}
			crds.lacks, now = nil, now.Add(leaveOutFor+time.Second)
			if err := write(); err != nil || at(crds.wrote[len(crds.wrote)-1], "status.rehearsal") == nil {
				t.Errorf("once the CRDs have come: %v, %v", err, crds.wrote[len(crds.wrote)-1])
			}
		})
	}
}
