package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/cgroup"
)

// A folder that systemd-nspawn binds cannot be mounted again from inside: a soft reboot must
// not unmount it.
func TestBoundFoldersStayMounted(t *testing.T) {
	m := create(t, spec(t))
	found := 0
	for _, arg := range m.nspawn(t.Context(), cgroup.V1).Args {
		_, folder, binds := strings.Cut(arg, ":/")
		if !binds || !strings.HasPrefix(arg, "--bind=") {
			continue
		}
		found++
		unit := strings.ReplaceAll(filepath.Clean(folder), "/", "-") + ".mount"
		if _, err := os.Stat(m.disk(units + unit + ".d/lab.conf")); err != nil {
			t.Errorf("/%s is not kept: %v", folder, err)
		}
	}
	if found == 0 {
		t.Error("no folder is bound")
	}
}
