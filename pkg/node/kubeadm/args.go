package kubeadm

import (
	"time"
)

// UpgradeOutput is the result of Upgrade.
type UpgradeOutput struct {
	// Args are the arguments of kubeadm.
	Args []string `json:"args"`
	// Duration of the run.
	Duration time.Duration `json:"duration"`
	// LogFile is the path of its complete output.
	LogFile string `json:"logFile"`
}
