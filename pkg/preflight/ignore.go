package preflight

import "strings"

// EtcdQuorum is the check whose question planner and agent ask again, and let
// through where it is ignored.
const EtcdQuorum = "etcd-quorum"

// inevitable are the checks that stand in vain among those that an upgrade
// ignores: there is no image to stage, Kubernetes itself refuses the step, or a
// later step waits for what cannot come.
var inevitable = map[string]bool{
	"version-skip": true, "version-downgrade": true, "version-unknown": true, "image-not-offered": true,
	"unsupported-control-plane": true, "control-plane-left-out": true, "etcd-external": true,
}

// IgnoringHelps is whether an upgrade goes on in spite of the check when somebody
// ignores it. What is ignored is marked and recorded either way.
func IgnoringHelps(id string) bool { return Known(id) && !inevitable[id] }

// ManagerCheck is the check that finds the program of that name, which may
// reboot nodes now.
func ManagerCheck(name string) string {
	switch strings.ToLower(name) {
	case "kured":
		return "kured-lock"
	case "fluo":
		return "fluo"
	}
	return "reboot-manager"
}
