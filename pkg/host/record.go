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
}

// Guard has what a boot-time guard needs to return to the former version. The verb
// "activate" records it before it changes the symlink. Nothing reads it at boot
// yet: no node is rolled back by itself.
type Guard struct {
	// From is the former version, To the one that was activated.
	From string `json:"from"`
	To   string `json:"to"`
	// SHA256 of the image of To, as fixed at the trigger.
	SHA256 string `json:"sha256,omitempty"`
	// BootID is the boot ID at the time of activation.
	BootID  string    `json:"bootID"`
	ArmedAt time.Time `json:"armedAt"`
	// Within is how long after boot the new kubelet may take to become healthy.
	Within  time.Duration `json:"within"`
	Restore Restore       `json:"restore"`
}

// Restore has what returning to the former version has to restore.
type Restore struct {
	// Link is the symlink, LinkTarget its former target.
	Link       string `json:"link"`
	LinkTarget string `json:"linkTarget"`
	// Confs maps the name of each sysupdate definition to its former text.
	Confs map[string]string `json:"confs,omitempty"`
	// Files maps the path of each saved file to the path of its copy.
	Files map[string]string `json:"files,omitempty"`
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
	return writeJSON(kubeadmDoneFile(l.Root()), d)
}

// Guard returns the guard that was recorded last, or nil if there is none.
func (l Layout) Guard() (*Guard, error) { return readJSON[Guard](guardFile(l.Root())) }

// SetGuard records a guard.
func (l Layout) SetGuard(g Guard) error { return writeJSON(guardFile(l.Root()), g) }

// ActivationPending reports whether the symlink points to an image that the verb
// "activate" activated and that is not merged yet. Such a node is about to reboot,
// so its symlink and confs must not change.
func (l Layout) ActivationPending() (bool, error) {
	guard, err := l.Guard()
	if err != nil || guard == nil {
		return false, err
	}
	active, err := l.Active()
	if err != nil {
		return false, err
	}
	merged, err := l.Merged()
	return guard.To == active.Version() && (err != nil || merged != active), nil
}

// savedDir returns the folder of the kubelet's files from before the upgrade to a
// version.
func savedDir(version string) string { return filepath.Join(StateDir(Root), "saved", version) }
