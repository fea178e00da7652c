package coordinator

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/source"
)

// Config is the coordinator's configuration file.
type Config struct {
	Source SourceConfig `json:"source"`
	// Strategy is for the upgrades that the coordinator creates by itself.
	Strategy v1alpha1.Strategy `json:"strategy,omitzero"`
}

// SourceConfig says where images come from.
type SourceConfig struct {
	// URL of the folder with SHA256SUMS and the images. Default:
	// DefaultSource.
	URL string `json:"url,omitempty"`
	// Interval between two looks at SHA256SUMS. Default: 10m; at least 1s.
	Interval metav1.Duration `json:"interval,omitzero"`
	// Keyring to check SHA256SUMS.gpg with. Not supported yet: it must be
	// empty.
	Keyring string `json:"keyring,omitempty"`
}

// DefaultSource is where images come from where the configuration does not say.
const DefaultSource = source.Default

const (
	defaultInterval = 10 * time.Minute
	leastInterval   = time.Second
)

// ParseConfig reads a configuration file. A field that it does not know is an
// error, so that a slip of the pen does not pass for a default.
func ParseConfig(data []byte) (Config, error) {
	var c Config
	if err := yaml.UnmarshalStrict(data, &c); err != nil {
		return c, fmt.Errorf("reading configuration: %s", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	if c.Source.URL == "" {
		c.Source.URL = DefaultSource
	}
	if c.Source.Interval.Duration == 0 {
		c.Source.Interval.Duration = defaultInterval
	}
	switch {
	case c.Source.Interval.Duration < leastInterval:
		return c, fmt.Errorf("reading configuration: source.interval %s is shorter than %s", c.Source.Interval.Duration, leastInterval)
	case c.Source.Keyring != "":
		return c, fmt.Errorf("reading configuration: source.keyring is not supported yet: leave it out")
	case c.Strategy.Method != "" && c.Strategy.Method != v1alpha1.MethodReboot && c.Strategy.Method != v1alpha1.MethodRestart:
		return c, fmt.Errorf("reading configuration: strategy.method %q is neither Reboot nor Restart", c.Strategy.Method)
	}
	return c, nil
}
