package cluster

import (
	"embed"
	"fmt"
	"path"
	"strings"
	"text/template"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// slow has kubeadm's patches for slow machines: the intervals and time limits of
// Kubernetes, multiplied. Its defaults suit a machine that answers a probe in seconds.
//
//go:embed slow
var slow embed.FS

// patches is the folder of these patches on a node.
const patches = "/etc/kubernetes/patches"

// patchesFolder is empty on ordinary machines, which need no patches.
func patchesFolder() string {
	if timelimit.Slow() {
		return patches
	}
	return ""
}

// slowFiles are what a node of a slow machine has more than others, by path.
func slowFiles() (map[string]string, error) {
	files := map[string]string{}
	if !timelimit.Slow() {
		return files, nil
	}
	scale := func(unit time.Duration) func(string) (int64, error) {
		return func(text string) (int64, error) {
			d, err := time.ParseDuration(text)
			return int64(timelimit.Scale(d) / unit), err
		}
	}
	all, err := template.New("").Funcs(template.FuncMap{
		"seconds": scale(time.Second), "milliseconds": scale(time.Millisecond),
	}).ParseFS(slow, "slow/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("reading the patches for slow machines: %w", err)
	}
	for _, patch := range all.Templates() {
		var b strings.Builder
		if err := patch.Execute(&b, nil); err != nil {
			return nil, fmt.Errorf("writing the patches for slow machines: %w", err)
		}
		files[path.Join(patches, patch.Name())] = b.String()
	}
	// The kubelet looks at all control groups at this interval. Collecting garbage less
	// often takes memory, and saves time.
	files["/etc/sysconfig/kubelet"] = fmt.Sprintf("KUBELET_EXTRA_ARGS=--housekeeping-interval=%s\nGOGC=400\n", timelimit.Scale(10*time.Second))
	files["/etc/systemd/system.conf.d/slow.conf"] = fmt.Sprintf("[Manager]\nDefaultTimeoutStartSec=%d\n", int(timelimit.Scale(90*time.Second).Seconds()))
	return files, nil
}
