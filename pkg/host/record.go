package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// KubeadmDone records a `kubeadm upgrade` that ended well.
type KubeadmDone struct {
	Version    string    `json:"version,omitempty"`
	Command    string    `json:"command,omitempty"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
}

// Guard is what the boot-time guard has to know: armed by the verb "activate"
// before the flip.
type Guard struct {
	// From is the version to go back to, To the one that was activated.
	From string `json:"from"`
	To   string `json:"to"`
	// SHA256 of the image of To, as it was fixed at the trigger.
	SHA256 string `json:"sha256,omitempty"`
	// BootID of the system that armed it: the boot to leave behind.
	BootID  string    `json:"bootID"`
	ArmedAt time.Time `json:"armedAt"`
	// Within is how long after boot the new kubelet has to become healthy.
	Within time.Duration `json:"within"`
	// Restore is what a way back has to put where.
	Restore Restore `json:"restore"`
}

// Restore is what a way back would put back.
type Restore struct {
	// Link is the symlink, LinkTarget what it pointed to.
	Link       string `json:"link"`
	LinkTarget string `json:"linkTarget"`
	// Confs maps each file of the sysupdate definitions to its former text.
	Confs map[string]string `json:"confs,omitempty"`
	// Files maps a path on the node to the saved copy of it.
	Files map[string]string `json:"files,omitempty"`
}

// BootID of the running system.
func (l Layout) BootID() (string, error) {
	data, err := os.ReadFile(l.At(bootIDFile))
	if err != nil {
		return "", fmt.Errorf("reading the boot id: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// KubeadmDone returns the last `kubeadm upgrade` that ended well, or nil.
func (l Layout) KubeadmDone() (*KubeadmDone, error) {
	return readJSON[KubeadmDone](kubeadmDoneFile(l.Root()))
}

// SetKubeadmDone records it.
func (l Layout) SetKubeadmDone(d KubeadmDone) error {
	return writeJSON(kubeadmDoneFile(l.Root()), d)
}

// Guard returns the guard that was armed last, or nil.
func (l Layout) Guard() (*Guard, error) { return readJSON[Guard](guardFile(l.Root())) }

// SetGuard arms it.
func (l Layout) SetGuard(g Guard) error { return writeJSON(guardFile(l.Root()), g) }

// ActivationPending reports whether the symlink points to an image that a guard
// was armed for and that is not merged yet: such a node is on its way through
// a reboot, and its symlink and confs are not to be touched.
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

// savedDir has the kubelet's files from before the upgrade to a version.
func savedDir(version string) string { return filepath.Join(StateDir(Root), "saved", version) }
