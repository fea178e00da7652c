package kubeadm

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// UpgradeArgs are the arguments of Upgrade.
type UpgradeArgs struct {
	// Version such as v1.34.4.
	Version string                  `json:"version"`
	Command v1alpha1.KubeadmCommand `json:"command"`
	// SHA256 of the image that kubeadm comes from.
	SHA256 string `json:"sha256"`
}

// UpgradeOutput is the result of Upgrade.
type UpgradeOutput struct {
	// Args are the arguments of kubeadm.
	Args []string `json:"args"`
	// Duration of the run.
	Duration time.Duration `json:"duration"`
	// LogFile is the path of its complete output.
	LogFile string `json:"logFile"`
}

// ImageMount is where the verb's unit mounts the staged image.
const ImageMount = "/run/kubectl-upgrade/image"
