package cluster

import (
	"strings"
	"testing"
)

// TestMerge checks that a document changes the one of its kind, and no other.
func TestMerge(t *testing.T) {
	changed := config
	changed.Changes = "kind: ClusterConfiguration\ncertificateValidityPeriod: 15m\nnetworking: {dnsDomain: a.example}\n---\nkind: UpgradeConfiguration\napply: {etcdUpgrade: false}\n"
	docs := render(t, "init.yaml", changed)
	for path, want := range map[string]any{
		"certificateValidityPeriod": "15m", "networking.dnsDomain": "a.example", "networking.podSubnet": "10.244.0.0/16", "kubernetesVersion": "v1.34.3",
	} {
		if got := at(docs["ClusterConfiguration"], strings.Split(path, ".")...); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if len(docs) != 4 || docs["UpgradeConfiguration"] != nil {
		t.Errorf("init.yaml has %d documents, want its own 4", len(docs))
	}
	if got := at(render(t, "upgrade.yaml", changed)["UpgradeConfiguration"], "apply", "etcdUpgrade"); got != false {
		t.Errorf("etcdUpgrade is %v, want false", got)
	}
	for _, wrong := range []string{"a: b", "kind: [", "- a"} {
		if _, err := merge("", wrong); err == nil {
			t.Errorf("%q was taken", wrong)
		}
	}
}
