package kubeadm

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// UpgradeArgs ask for one kubeadm upgrade.
type UpgradeArgs struct {
	// Version such as v1.34.4.
	Version string                  `json:"version"`
	Command v1alpha1.KubeadmCommand `json:"command"`
	// SHA256 of the image that kubeadm comes from.
	SHA256 string `json:"sha256"`
}

// UpgradeOutput says what ran.
type UpgradeOutput struct {
	// Args is the command line.
	Args []string `json:"args"`
	// Duration it took.
	Duration time.Duration `json:"duration"`
	// LogFile has all that it printed.
	LogFile string `json:"logFile"`
}

// ImageMount is where the verb's unit finds the staged image's files.
const ImageMount = "/run/kubectl-upgrade/image"
