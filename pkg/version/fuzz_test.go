package version_test

import (
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// FuzzParse checks that a parsed version prints as it was, and that Compare is an order.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"v1.34.4", "1.34.4", "v1.35.0-rc.1", "v1.34.4+k3s1", "v01.2.3", "v1.34", "v1.99999.0", "v1.2.3-\x00", ""} {
		f.Add(s, "v1.34.4")
	}
	f.Fuzz(func(t *testing.T, s, other string) {
		v, err := version.Parse(s)
		if err != nil {
			return
		}
		if again, err := version.Parse(v.String()); err != nil || again != v {
			t.Errorf("%q is %+v, and %s is %+v, %v", s, v, v, again, err)
		}
		w, err := version.Parse(other)
		if err != nil {
			return
		}
		if v.Compare(w) != -w.Compare(v) || (v.Compare(w) == 0) != (v == w) {
			t.Errorf("%s to %s: %d, and %d", v, w, v.Compare(w), w.Compare(v))
		}
		_ = version.CheckStep(v, w)
		_ = version.CheckKubelet(v, w)
		_ = version.CheckAPIServers(v, w)
	})
}
