package clusterstate

import (
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

func TestOf(t *testing.T) {
	const restart, soft, patch = v1alpha1.MethodRestart, v1alpha1.MethodSoftReboot, v1alpha1.TypePatch
	for name, test := range map[string]struct {
		asked v1alpha1.Method
		kind  v1alpha1.UpgradeType
		from  string
		host  MethodHost
		want  v1alpha1.Method
		why   string
	}{
		"nothing is asked for":          {"", patch, "v1.34.3", MethodHost{}, v1alpha1.MethodReboot, ""},
		"a reboot is asked for":         {v1alpha1.MethodReboot, patch, "v1.34.3", MethodHost{RefreshBlockers: []string{"/usr/x"}}, v1alpha1.MethodReboot, ""},
		"a patch":                       {restart, patch, "v1.34.3", MethodHost{}, restart, ""},
		"the operating system's":        {restart, v1alpha1.TypeReboot, "v1.34.3", MethodHost{}, v1alpha1.MethodReboot, ""},
		"a minor":                       {restart, v1alpha1.TypeMinor, "v1.33.9", MethodHost{}, v1alpha1.MethodReboot, "for patches"},
		"a node that is a minor behind": {restart, patch, "v1.33.9", MethodHost{}, v1alpha1.MethodReboot, "for patches"},
		"a kubelet of no version":       {restart, patch, "", MethodHost{}, v1alpha1.MethodReboot, "for patches"},
		"mounts below the image":        {restart, patch, "v1.34.3", MethodHost{RefreshBlockers: []string{"/usr/x", "/opt/y"}}, v1alpha1.MethodReboot, "/usr/x, /opt/y"},
		"a soft reboot":                 {soft, patch, "v1.34.3", MethodHost{RefreshBlockers: []string{"/usr/x"}}, soft, ""},
		"a soft reboot for a minor":     {soft, v1alpha1.TypeMinor, "v1.33.9", MethodHost{}, soft, ""},
		"a Reboot is never soft":        {soft, v1alpha1.TypeReboot, "v1.34.3", MethodHost{}, v1alpha1.MethodReboot, ""},
		"an old systemd":                {soft, patch, "v1.34.3", MethodHost{SoftRebootBlocker: "systemd is 252"}, v1alpha1.MethodReboot, "systemd is 252"},
		"a new kernel waits":            {soft, patch, "v1.34.3", MethodHost{RebootRequired: true, RebootReason: "update_engine", SoftRebootBlocker: "systemd is 252"}, v1alpha1.MethodReboot, "update_engine"},
		"a new method, of a newer API":  {"Kexec", patch, "v1.34.3", MethodHost{}, v1alpha1.MethodReboot, ""},
	} {
		got, why := MethodOf(test.asked, test.kind, test.from, "v1.34.4", test.host)
		if got != test.want || !strings.Contains(why, test.why) || (why == "") != (test.why == "") {
			t.Errorf("%s: %s (%s)", name, got, why)
		}
	}
}
