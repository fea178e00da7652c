package guard

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// TestConfirmAsksTheKubelet checks that the guard's watch does not end while the kubelet's health
// endpoint does not answer.
func TestConfirmAsksTheKubelet(t *testing.T) {
	l := host.Layout{Dir: t.TempDir()}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(l.At(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(l.At(path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	endpoint := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer endpoint.Close()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(endpoint.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	write("/proc/7/cmdline", "/usr/bin/kubelet\x00")
	write("/proc/7/cgroup", "0::/system.slice/kubelet.service\n")
	write(host.KubeletConfig, "healthzPort: "+port+"\nstaticPodPath: /run/others\n")
	write(host.ManifestsDir+"/etcd.yaml", "kind: Pod\nspec: {containers: [{name: etcd}]}\n")
	write(host.Program(host.Root), "program")
	if err := l.ArmGuard(host.Guard{From: "v1.34.3", To: "v1.34.4", StaticPods: host.ManifestsDir, ArmedAt: time.Unix(1, 0)}); err != nil {
		t.Fatal(err)
	}
	log := host.NewLog(&bytes.Buffer{})
	if err := Confirm(t.Context(), l, log); err == nil || err.Error() != "these static pods do not run: etcd" {
		t.Errorf("with a kubelet that looks elsewhere for static pods: %v", err)
	}
	endpoint.Close()
	err = Confirm(t.Context(), l, log)
	if got := host.ReasonOf(err, ""); got != v1alpha1.ReasonUnhealthy || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("without a health endpoint: %v (%s)", err, got)
	}
	if err := os.Remove(l.At("/proc/7/cmdline")); err != nil {
		t.Fatal(err)
	}
	if err := Confirm(t.Context(), l, log); err == nil || err.Error() != "the kubelet does not run" {
		t.Errorf("without a kubelet: %v", err)
	}
	if armed, err := l.GuardArmed(); !armed || err != nil {
		t.Errorf("the guard is no longer armed (%v)", err)
	}
}
