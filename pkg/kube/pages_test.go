package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestAll checks that all pages are read in order, each once, whatever order the API server's JSON has,
// and that a list which has become too old is read again as a whole.
func TestAll(t *testing.T) {
	item := func(name string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"annotations":{"last":"{\"metadata\":{\"continue\":\"wrong\"}}"}},"spec":{"managed":true}}`, name)
	}
	list := func(metadataFirst bool, next string, names ...string) string {
		var items []string
		for _, name := range names {
			items = append(items, item(name))
		}
		metadata, all := fmt.Sprintf(`"metadata":{"resourceVersion":"7","continue":%q}`, next), `"items":[`+strings.Join(items, ",")+`]`
		const head = `{"apiVersion":"kubectl-upgrade.dev/v1alpha1","kind":"NodeUpgradeList",`
		if metadataFirst {
			return head + metadata + "," + all + "}"
		}
		return head + all + "," + metadata + "}"
	}
	const expired = "expired"
	for name, test := range map[string]struct {
		pages map[string]string // by what they continue
		want  string
		reads int
	}{
		"one page":       {map[string]string{"": list(false, "", "a", "b")}, "a b", 1},
		"none":           {map[string]string{"": list(false, "")}, "", 1},
		"three pages":    {map[string]string{"": list(false, "2", "a", "b"), "2": list(false, "3", "c"), "3": list(false, "", "d")}, "a b c d", 3},
		"metadata first": {map[string]string{"": list(true, "2", "a"), "2": list(true, "", "b")}, "a b", 2},
		"too old":        {map[string]string{"": list(false, "2", "a", "b"), "2": expired, "whole": list(false, "", "a", "b", "c")}, "a b c", 3},
	} {
		t.Run(name, func(t *testing.T) {
			var mutex sync.Mutex
			reads := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mutex.Lock()
				reads++
				mutex.Unlock()
				next := r.URL.Query().Get("continue")
				if r.URL.Query().Get("limit") == "" {
					next = "whole"
				}
				w.Header().Set("Content-Type", "application/json")
				if body := test.pages[next]; body != expired {
					fmt.Fprint(w, body)
					return
				}
				w.WriteHeader(http.StatusGone)
				fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
			}))
			t.Cleanup(server.Close)
			kinds, err := NewKinds(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			all, err := kinds.NodeUpgrades.All(t.Context(), metav1.ListOptions{}, func(u *v1alpha1.NodeUpgrade) *v1alpha1.NodeUpgrade {
				u.Annotations = nil
				return u
			})
			var names []string
			for _, u := range all {
				if names = append(names, u.Name); u.Annotations != nil || !u.Spec.Managed {
					t.Errorf("%s was not kept as it should be: %+v", u.Name, u)
				}
			}
			if got := strings.Join(names, " "); got != test.want || err != nil || reads != test.reads {
				t.Errorf("got %q by %d requests and %v, want %q by %d", got, reads, err, test.want, test.reads)
			}
		})
	}
}
