package artifacts

import "testing"

func TestNearestPatch(t *testing.T) {
	listed := []string{"go.etcd.io/etcd/etcdctl/v3", "v3.5.9", "v3.5.11", "v3.5.33", "v3.5.35", "v3.5.34-rc.0", "v3.6.0", "v4.5.30"}
	for wanted, want := range map[string]string{
		"v3.5.24": "v3.5.11",
		"v3.5.10": "v3.5.9",
		"v3.5.3":  "v3.5.9",
		"v3.5.40": "v3.5.35",
		"v3.6.2":  "v3.6.0",
		"v3.7.0":  "",
		"v3.5":    "",
	} {
		got, err := nearestPatch(listed, wanted)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("nearestPatch(%s): got %q, %v, want %q", wanted, got, err, want)
		}
	}
}
