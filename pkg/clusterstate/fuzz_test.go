package clusterstate_test

import (
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// FuzzParseOwner checks that an owner prints as it was parsed: no node takes a slot by a name
// that only resembles another's.
func FuzzParseOwner(f *testing.F) {
	f.Add("worker-1/uid")
	f.Add("worker-1/")
	f.Add("a/b/c")
	f.Fuzz(func(t *testing.T, text string) {
		if o, err := clusterstate.ParseOwner(text); err == nil && (o.String() != text || o.Node == "" || o.UID == "") {
			t.Errorf("%q is %+v", text, o)
		}
	})
}
