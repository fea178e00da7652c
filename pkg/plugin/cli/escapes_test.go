package cli_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// hostile is text that nodes, objects and an index of images may have: it clears the screen,
// colors what follows, names the window, and reverses the reading direction.
const hostile = `a\e[2J\e[31mb\e]0;title\acd\u202Ee`

var hostileObjects = strings.ReplaceAll(`
kind: UpgradePolicy
metadata: {name: cluster}
spec: {mode: Manage, source: {url: "SOURCE", transportPolicy: AllowHTTP}}
status: {conditions: [{type: SourceReady, status: "False", reason: SourceInvalid, message: "HOSTILE", lastTransitionTime: "2026-01-01T00:00:00Z"}]}
---
kind: Node
metadata: {name: w-1}
status: {nodeInfo: {kubeletVersion: "HOSTILE"}}
---
kind: MaintenanceSchedule
metadata: {name: freeze-1}
spec: {maintenanceExclusions: [{name: x, startTime: "2020-01-01T00:00:00Z", endTime: "2900-01-01T00:00:00Z", comment: "HOSTILE"}]}
---
kind: NodeUpgrade
metadata: {name: w-1}
abandoned: {comment: "HOSTILE"}
status: {step: Failed, agentVersion: "HOSTILE", slot: "HOSTILE", kubeadmLog: "HOSTILE", versions: {kubelet: "HOSTILE", staged: "HOSTILE"}, conditions: [{type: UpToDate, status: "False", reason: RebootFailed, message: "HOSTILE", lastTransitionTime: "2026-01-01T00:00:00Z"}]}
---
kind: ClusterUpgrade
metadata: {name: u}
spec: {version: v1.34.4, ignoreChecks: [{id: kured-lock, comment: "HOSTILE"}]}
status: {conditions: [{type: Stalled, status: "True", reason: Preflight, message: "HOSTILE", lastTransitionTime: "2026-01-01T00:00:00Z"}], findings: [{id: "HOSTILE", level: Block, message: "HOSTILE", advice: "HOSTILE"}]}
---
kind: UpgradeRecord
metadata: {name: before-1}
spec:
  upgrade: {name: "HOSTILE", uid: "HOSTILE"}
  outcome: Failed
  fromVersion: "HOSTILE"
  version: "HOSTILE"
  reason: RebootFailed
  message: "HOSTILE"
  createdBy: "HOSTILE"
  endTime: "2026-01-01T00:00:00Z"
  piece: 1
  pieces: 1
  nodes: [{name: "HOSTILE", from: "HOSTILE", to: "HOSTILE", reason: RebootFailed}]
`, "HOSTILE", hostile)

// ownColor matches a word that the program itself colors.
var ownColor = regexp.MustCompile("\x1b\\[(?:1|2|31|32|38;5;130|36)m[^\x1b\n]*\x1b\\[0m")

// TestEscapesInObjectsAreNotPrinted checks that control characters in text from the cluster
// or the index are escaped or left out.
func TestEscapesInObjectsAreNotPrinted(t *testing.T) {
	config := apitest.Start(t)
	c := newCluster(t, config)
	images := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		_, _ = answer.Write([]byte("\x1b[2J not an index\n"))
	}))
	defer images.Close()
	applyObjects(t, config, strings.ReplaceAll(hostileObjects, "SOURCE", images.URL+"/"))
	const log = "kubeadm-log begin v1\x1b[2J\nkubeadm-log | [upgrade]\ta\x1b[2J\x1b[31mred\x1b[0m\x07\r\u009b\u202e\xff\nkubeadm-log end v1 OK\n"
	c.kubelet("w-1", log, "")
	c.agentPod("w-1")
	for _, command := range append(viewCommands, "status w-1 --log", "status -o wide", "unfreeze", "history before", "history u", "plan -o wide", "releases --all",
		"status w-1 -o jsonpath={.nodes[0].message}", "apply \x1b[2J", "abandon \x1b[2J --reason x --yes") {
		for _, color := range []string{"never", "always"} {
			out, errOut, _ := runCommand(t, config, "", command+" --color="+color)
			rest := out + errOut
			if color == "always" {
				rest = ownColor.ReplaceAllString(rest, "")
			}
			if i := strings.IndexFunc(rest, func(r rune) bool {
				return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar
			}); i >= 0 {
				t.Errorf("`%s --color=%s` wrote %q", command, color, rest[i:min(len(rest), i+40)])
			}
		}
	}
	out, _, _ := runCommand(t, config, "", "status w-1 --log")
	if want := `[upgrade]	a\u001b[2J\u001b[31mred\u001b[0m\u0007\u000d\u009b\u202e\ufffd` + "\n"; out != want {
		t.Errorf("got the log %q, want %q", out, want)
	}
}
