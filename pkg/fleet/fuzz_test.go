package fleet_test

import (
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
)

// The owner of a slot is written as it was read: no node takes a slot by a name that
// only looks like another's.
func FuzzParseOwner(f *testing.F) {
	f.Add("worker-1/uid")
	f.Add("worker-1/")
	f.Add("a/b/c")
	f.Fuzz(func(t *testing.T, text string) {
		if o, err := fleet.ParseOwner(text); err == nil && (o.String() != text || o.Node == "" || o.UID == "") {
			t.Errorf("%q is %+v", text, o)
		}
	})
}
