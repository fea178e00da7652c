package coordinator_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/silence"
)

// alertmanager notes which silences are made and ended. test/monitoring has a real one.
type alertmanager struct {
	*httptest.Server
	mutex   sync.Mutex
	refuses bool
	active  map[string]bool // by node
	all     []string
}

func newAlertmanager(t *testing.T) *alertmanager {
	a := &alertmanager{active: map[string]bool{}}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mutex.Lock()
		defer a.mutex.Unlock()
		switch {
		case a.refuses:
			http.Error(w, "no space left", http.StatusInternalServerError)
		case r.Method == http.MethodPost:
			var s struct {
				Matchers []struct{ Name, Value string }
			}
			_ = json.NewDecoder(r.Body).Decode(&s)
			node := s.Matchers[1].Value
			a.active[node], a.all = true, append(a.all, node)
			fmt.Fprintf(w, `{"silenceID":%q}`, node)
		case r.Method == http.MethodDelete:
			delete(a.active, strings.TrimPrefix(r.URL.Path, "/prefix/api/v2/silence/"))
		default:
			fmt.Fprint(w, "[]")
		}
	}))
	t.Cleanup(a.Close)
	return a
}

// refuse sets whether it refuses everything.
func (a *alertmanager) refuse(refuses bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.refuses = refuses
}

// seen returns the nodes that are silenced, and all that were.
func (a *alertmanager) seen() (active int, all string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return len(a.active), strings.Join(a.all, " ")
}

// TestSilences follows a patch whose nodes are silenced while they are at work. First, no node is silenced,
// as the Alertmanager refuses everything: that holds nothing, and is told.
func TestSilences(t *testing.T) {
	c := newCluster(t, "cp1", "w1")
	manager := newAlertmanager(t)
	manager.refuse(true)
	c.policy(func(p *v1alpha1.UpgradePolicy) {
		p.Spec.Silences = []v1alpha1.Silence{{Name: "nodes", URL: manager.URL + "/prefix", Matchers: []v1alpha1.SilenceMatcher{{Name: "node", Value: "{node}"}}}}
	})
	c.schedule("always", func(*v1alpha1.MaintenanceSchedule) {})
	c.index.offer("v1.34.4")
	c.startAgent("cp1")
	c.startAgent("w1")
	c.startCoordinator("one")
	c.eventually(c.succeeded("v1.34.4"))
	c.eventually(c.policyHasCondition(v1alpha1.ConditionSilencesFailed, metav1.ConditionTrue, silence.ReasonNotSilenced))
	if message, want := c.policyCondition(v1alpha1.ConditionSilencesFailed).Message, `silence nodes: looking for silences of the leader before: `+manager.URL+`/prefix/api/v2/silences answers 500 Internal Server Error: no space left`; message != want {
		t.Errorf("the message is %q, want %q", message, want)
	}
	c.awaitEvents("cluster", v1alpha1.ConditionSilencesFailed)

	manager.refuse(false)
	c.eventually(func() string {
		if failed := c.policyCondition(v1alpha1.ConditionSilencesFailed); failed != nil {
			return fmt.Sprintf("the condition stays: %+v", failed)
		}
		return ""
	})
	if active, all := manager.seen(); active > 0 || all != "" {
		t.Errorf("without an upgrade: %q", all)
	}
	c.index.offer("v1.34.4", "v1.34.5")
	c.eventually(c.succeeded("v1.34.5"))
	c.eventually(func() string {
		active, all := manager.seen()
		if active > 0 || !strings.Contains(all, "cp1") || !strings.Contains(all, "w1") {
			return fmt.Sprintf("%d are silenced, and were %s", active, all)
		}
		return ""
	})
	time.Sleep(2 * time.Second)
	if active, all := manager.seen(); active > 0 {
		t.Errorf("after the upgrade: %q", all)
	}
}
