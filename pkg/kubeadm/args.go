package kubeadm

import (
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"
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

// Options are the unit properties that the verb needs: the staged image of
// that version, mounted for this unit alone, and a limit.
func Options(version, architecture string) host.Options {
	return host.Options{
		MountImages: []host.MountImage{{Source: host.ImagePath(version, architecture), Destination: ImageMount}},
		RuntimeMax:  RuntimeMax,
	}
}

// RuntimeMax ends a kubeadm that hangs. Measured: under 3 minutes for a minor
// on two cores; kubeadm's own waits are 5 minutes for each component.
const RuntimeMax = 40 * time.Minute
