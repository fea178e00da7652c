package guard

import (
	"fmt"
	"regexp"
)

// Problem returns what is wrong with the node, or "". What the other problems follow
// from comes first.
func Problem(a Activation, o Observation) string {
	var problem string
	switch h := o.Health; {
	case o.Merged == "":
		problem = "the image of " + a.To + " was not merged"
	case o.Merged != a.To:
		problem = fmt.Sprintf("%s is merged, and not %s", o.Merged, a.To)
	case h.Network != "":
		problem = h.Network
	case h.Kubelet != "" && o.Runtime != "":
		problem = h.Kubelet + "; " + o.Runtime
	case h.Kubelet != "":
		problem = h.Kubelet
	case h.StaticPods != "":
		problem = h.StaticPods
	case h.API != "":
		problem = h.API
	default:
		return ""
	}
	problem += o.Tried.String()
	if o.Merged != a.To && o.Tried.MergeFailure != "" {
		problem += ": " + o.Tried.MergeFailure
	}
	return problem
}

// apiAlone reports whether only the API server's answer shows a problem.
func apiAlone(a Activation, o Observation) bool {
	return o.Merged == a.To && o.Health.API != "" && o.Health == Health{API: o.Health.API}
}

// NodesFault reports whether what is wrong is the node's own fault, with which no version would
// have become healthy: another image keeps systemd-sysext from merging any, the former one is not
// merged either, or containerd has failed. Whose fault it is that there is no network shows once the
// node has returned.
func NodesFault(a Activation, o Observation) bool {
	switch {
	case o.Merged == "":
		return o.Tried.FormerFailure != "" || refusedImage(o.Tried.MergeFailure) != ""
	case o.Merged != a.To || o.Health.Network != "":
		return false
	}
	return o.Health.Kubelet != "" && o.Runtime != ""
}

// ownImage is what systemd-sysext calls Kubernetes' own image, by its symlink.
const ownImage = "kubernetes"

// refused matches systemd-sysext's message about an image with which it merges none at all.
var refused = regexp.MustCompile(`Failed to read metadata for image (\S+): `)

// refusedImage returns the image with which systemd-sysext merges none at all, by its message. Empty:
// it names none, or Kubernetes' own.
func refusedImage(said string) string {
	match := refused.FindStringSubmatch(said)
	if match == nil || match[1] == ownImage {
		return ""
	}
	return match[1]
}
