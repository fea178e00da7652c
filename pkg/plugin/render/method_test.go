package render

import (
	"strings"
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

func TestMethodIsShown(t *testing.T) {
	for name, test := range map[string]struct {
		node view.Node
		want string
	}{
		"as everywhere":    {view.Node{Method: v1alpha1.MethodReboot}, ""},
		"not decided":      {view.Node{}, ""},
		"without a reboot": {view.Node{Method: v1alpha1.MethodRestart}, "Method:       Restart\n"},
		"without firmware": {view.Node{Method: v1alpha1.MethodSoftReboot}, "Method:       SoftReboot\n"},
		"instead of what was asked for": {
			view.Node{Method: v1alpha1.MethodReboot, MethodMessage: "a refresh would break /usr/share/oem"},
			"Method:       Reboot, because a refresh would break /usr/share/oem\n",
		},
		"a reboot is due": {view.Node{RebootReason: "update_engine has installed an update"}, "Reboot:       update_engine has installed an update\n"},
	} {
		page := NodePage(test.node, Options{Zone: time.UTC, Width: 200})
		told := test.want != "" && strings.Contains(page, test.want)
		if !told && (test.want != "" || strings.Contains(page, "Method:")) {
			t.Errorf("%s: no %q in\n%s", name, test.want, page)
		}
	}
}
