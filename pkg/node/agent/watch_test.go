package agent

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSlotsListsMostRecent checks that no list of slots may be answered from the past, and
// that a watch still continues where the last one ended.
func TestSlotsListsMostRecent(t *testing.T) {
	for version, want := range map[string]string{"0": "", "": "", "17": "17"} {
		o := metav1.ListOptions{ResourceVersion: version}
		slots(&o, slotScope{every: true})
		if o.ResourceVersion != want || o.LabelSelector == "" {
			t.Errorf("resourceVersion %q: got %+v, want %q and a label selector", version, o, want)
		}
	}
}
