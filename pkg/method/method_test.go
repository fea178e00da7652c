package method

import (
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

func TestOf(t *testing.T) {
	const restart, patch = v1alpha1.MethodRestart, v1alpha1.TypePatch
	for name, test := range map[string]struct {
		asked    v1alpha1.Method
		kind     v1alpha1.UpgradeType
		from     string
		blockers []string
		want     v1alpha1.Method
		why      string
	}{
		"nothing is asked for":          {"", patch, "v1.34.3", nil, v1alpha1.MethodReboot, ""},
		"a reboot is asked for":         {v1alpha1.MethodReboot, patch, "v1.34.3", []string{"/usr/x"}, v1alpha1.MethodReboot, ""},
		"a patch":                       {restart, patch, "v1.34.3", nil, restart, ""},
		"the operating system's":        {restart, v1alpha1.TypeReboot, "v1.34.3", nil, v1alpha1.MethodReboot, ""},
		"a minor":                       {restart, v1alpha1.TypeMinor, "v1.33.9", nil, v1alpha1.MethodReboot, "for patches"},
		"a node that is a minor behind": {restart, patch, "v1.33.9", nil, v1alpha1.MethodReboot, "for patches"},
		"a kubelet of no version":       {restart, patch, "", nil, v1alpha1.MethodReboot, "for patches"},
		"mounts below the image":        {restart, patch, "v1.34.3", []string{"/usr/x", "/opt/y"}, v1alpha1.MethodReboot, "/usr/x, /opt/y"},
	} {
		got, why := Of(test.asked, test.kind, test.from, "v1.34.4", test.blockers)
		if got != test.want || !strings.Contains(why, test.why) || (why == "") != (test.why == "") {
			t.Errorf("%s: %s (%s)", name, got, why)
		}
	}
}
