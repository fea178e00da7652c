package node

import (
	"slices"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/iptables"
)

func TestNodesHaveTheKindOfIptablesThatTheKernelHas(t *testing.T) {
	t.Setenv(iptables.Variable, "legacy")
	files, err := Spec{Version: "1.34.3"}.files()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"iptables", "iptables-restore", "ip6tables-save"} {
		want := file{path: "/etc/alternatives/" + name, link: "/usr/sbin/xtables-legacy-multi"}
		if !slices.Contains(files, want) {
			t.Errorf("%s does not link to %s", want.path, want.link)
		}
	}
	t.Setenv(iptables.Variable, "ipchains")
	if _, err := (Spec{Version: "1.34.3"}).files(); err == nil {
		t.Error("no error for a kind that does not exist")
	}
}
