package preflight

import "strings"

// EtcdQuorum is the id of the check that the planner and the agents make again
// before a node begins. They skip it, too, where the upgrade ignores it.
const EtcdQuorum = "etcd-quorum"

// inevitable are the checks that do not help to be ignored: there is no image to
// stage, Kubernetes itself refuses the step, or a later step waits for ever.
var inevitable = map[string]bool{
	"version-skip": true, "version-downgrade": true, "version-unknown": true, "image-not-offered": true,
	"unsupported-control-plane": true, "control-plane-left-out": true, "etcd-external": true,
}

// IgnoringHelps reports whether an upgrade that ignores the check goes on. Its
// findings are marked as ignored in either case.
func IgnoringHelps(id string) bool { return Known(id) && !inevitable[id] }

// ManagerCheck returns the id of the check that blocks while the program of that
// name may reboot nodes.
func ManagerCheck(name string) string {
	switch strings.ToLower(name) {
	case "kured":
		return "kured-lock"
	case "fluo":
		return "fluo"
	}
	return "reboot-manager"
}
