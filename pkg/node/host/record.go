package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// KubeadmDone records a `kubeadm upgrade` that succeeded.
type KubeadmDone struct {
	Version    string    `json:"version,omitempty"`
	Command    string    `json:"command,omitempty"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	// AccessWritten is when KubeletAccess had been written last: kubeadm join writes it anew.
	AccessWritten time.Time `json:"accessWritten,omitzero"`
}

// BootID returns the boot ID of the running system.
func (l Layout) BootID() (string, error) {
	data, err := os.ReadFile(l.At(bootIDFile))
	if err != nil {
		return "", fmt.Errorf("reading the boot id: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// KubeadmDone returns the record of the last `kubeadm upgrade` that succeeded, or
// nil if there is none.
func (l Layout) KubeadmDone() (*KubeadmDone, error) {
	return readJSON[KubeadmDone](kubeadmDoneFile(l.Root()))
}

// SetKubeadmDone records a `kubeadm upgrade` that succeeded.
func (l Layout) SetKubeadmDone(d KubeadmDone) error {
	if info, err := os.Stat(l.At(KubeletAccess)); err == nil {
		d.AccessWritten = info.ModTime()
	}
	return writeJSON(kubeadmDoneFile(l.Root()), d)
}

// ForgetKubeadm removes the record of the last `kubeadm upgrade`.
func (l Layout) ForgetKubeadm() error { return remove(kubeadmDoneFile(l.Root())) }

// savedDir has the kubelet's files from before an upgrade, see SaveKubeletFiles, and
// savedMeta describes them.
var (
	savedDir  = filepath.Join(StateDir(Root), "saved")
	savedMeta = filepath.Join(savedDir, "saved.json")
)
