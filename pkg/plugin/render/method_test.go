package render

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

func TestMethodIsShown(t *testing.T) {
	for name, test := range map[string]struct {
		node Node
		want string
	}{
		"as everywhere":    {Node{Method: v1alpha1.MethodReboot}, ""},
		"not decided":      {Node{}, ""},
		"without a reboot": {Node{Method: v1alpha1.MethodRestart}, "Method:       Restart\n"},
		"without firmware": {Node{Method: v1alpha1.MethodSoftReboot}, "Method:       SoftReboot\n"},
		"instead of what was asked for": {
			Node{Method: v1alpha1.MethodReboot, MethodMessage: "a refresh would break /usr/share/oem"},
			"Method:       Reboot, because a refresh would break /usr/share/oem\n",
		},
		"a reboot is due": {Node{RebootReason: "update_engine has installed an update"}, "Reboot:       update_engine has installed an update\n"},
	} {
		page := NodePage(test.node, Options{Zone: time.UTC, Width: 200})
		told := test.want != "" && strings.Contains(page, test.want)
		if !told && (test.want != "" || strings.Contains(page, "Method:")) {
			t.Errorf("%s: no %q in\n%s", name, test.want, page)
		}
	}
}
