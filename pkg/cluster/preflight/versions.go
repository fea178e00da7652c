package preflight

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// VersionBlocked is the id of the check that finds a version that the policy blocks.
const VersionBlocked = "version-blocked"

var versionChecks = []Entry{
	{
		"version-skip", mandatory,
		"the version skips a minor of an apiserver or a kubelet",
		"Upgrade to the minor in between first: kubectl upgrade releases lists what is available.",
	},
	{
		"version-downgrade", mandatory,
		"the version is older than an apiserver: Kubernetes cannot be downgraded",
		"Choose a version that is not older: kubectl upgrade releases lists what is available.",
	},
	{
		VersionBlocked, blocks,
		"the UpgradePolicy blocks the version (spec.blockedVersions), or a Rollback has taken it back (status.takenBack)",
		"Choose another version: kubectl upgrade releases lists what is available; or allow it again: kubectl upgrade unblock.",
	},
	{
		"version-kubelet-skew", blocks,
		"a kubelet, also one that is not managed, is newer than an apiserver, or would be more than three minors older",
		"Bring that node's kubelet within three minors of the version, or remove the node.",
	},
	{
		"version-apiservers", either,
		"apiservers run different versions, as an earlier upgrade was not finished. Different minors block, patches warn",
		"Finish the earlier upgrade first: kubectl upgrade apply with the newest version among them.",
	},
	{
		"version-unknown", mandatory,
		"the version of an apiserver or a kubelet cannot be read, or is no release of Kubernetes",
		"Check the image of the kube-apiserver pods (kubectl -n kube-system get pods -l component=kube-apiserver -o wide) and the kubelets (kubectl get nodes).",
	},
	{
		"image-not-offered", mandatory,
		"the source has no image of the version for a node's architecture",
		"Publish that image, or choose a version that every architecture has: kubectl upgrade releases.",
	},
	{
		"version-newer", warns,
		"the minor is newer than the lists of removed feature gates, flags and fields of this version of kubectl-upgrade",
		"Install the newest kubectl-upgrade, or look at each node's rehearsal once the image is staged: kubectl get nodeinventory NODE -o yaml.",
	},
	{
		"image-replaced", warns,
		"the source has another image of the version than before",
		"Ask its publisher why. An upgrade uses the images that the source had when it was triggered.",
	},
}

func (c *checker) checkReplaced() {
	for _, image := range c.Replaced {
		c.add(v1alpha1.Finding{
			ID: "image-replaced",
			Message: fmt.Sprintf("Since %s the source has another image of %s for %s, %s.",
				clusterstate.FormatTime(image.FirstSeenTime.Time), c.Upgrade.Spec.Version, image.Architecture, image.Digest),
		})
	}
}

func (c *checker) checkBlocked() {
	if c.Blocked != nil {
		c.add(v1alpha1.Finding{
			ID: VersionBlocked, Object: v1alpha1.ObjectReference{Kind: "UpgradePolicy", Name: v1alpha1.PolicyName},
			Message: fmt.Sprintf("The UpgradePolicy blocks %s: %s.", c.Blocked.Version, strings.TrimSuffix(c.Blocked.Comment, ".")),
		})
	}
}

func (c *checker) checkVersions() {
	servers := c.apiServers()
	c.checkAPIServers(servers)
	c.checkKubelets(slices.SortedFunc(maps.Keys(servers), version.Version.Compare))
	c.checkOffered()
	c.checkKnownMinor()
	c.checkReplaced()
	c.checkBlocked()
}

// apiServers returns the nodes of the apiservers, by version.
func (c *checker) apiServers() map[version.Version][]string {
	servers := map[version.Version][]string{}
	seen := false
	for _, pod := range c.static {
		if pod.component != apiServer {
			continue
		}
		seen = true
		if pod.versionError != nil {
			c.add(v1alpha1.Finding{ID: "version-unknown", Object: pod.object(), Message: fmt.Sprintf("The kube-apiserver on %s: %v.", pod.node, pod.versionError)})
			continue
		}
		servers[pod.version] = append(servers[pod.version], pod.node)
	}
	if !seen {
		c.add(v1alpha1.Finding{ID: "version-unknown", Message: "There is no kube-apiserver pod in kube-system, so the version of the control plane is not known."})
	}
	return servers
}

func (c *checker) checkAPIServers(servers map[version.Version][]string) {
	var others []version.Version
	for _, v := range slices.SortedFunc(maps.Keys(servers), version.Version.Compare) {
		leftNewer := c.clusterAPIDecides() && c.to.SameLine(v) && c.to.Less(v) // Cluster API may bring workers to an older patch
		if c.kubeadm && !leftNewer {
			c.refused(version.CheckStep(v, c.to), v1alpha1.Finding{}, fmt.Sprintf("The kube-apiserver on %s", names(servers[v])))
		}
		if v != c.to {
			others = append(others, v)
		}
	}
	if len(others) < 2 {
		return
	}
	oldest, newest := others[0], others[len(others)-1]
	level := v1alpha1.LevelWarn
	if !oldest.SameLine(newest) && !c.renews { // certificates expire in an upgrade that does not go on, too
		level = v1alpha1.LevelBlock
	}
	c.add(v1alpha1.Finding{
		ID: "version-apiservers", Level: level,
		Message: fmt.Sprintf("The apiservers run different versions: %s on %s, %s on %s.", oldest, names(servers[oldest]), newest, names(servers[newest])),
		Advice:  fmt.Sprintf("Finish the earlier upgrade first: kubectl upgrade apply %s.", newest),
	})
}

// refused adds a finding that Kubernetes does not allow a step.
func (c *checker) refused(err error, f v1alpha1.Finding, who string) {
	var refusal *version.Refusal
	if !errors.As(err, &refusal) {
		return
	}
	f.Message = fmt.Sprintf("%s: %s.", who, refusal.Message)
	switch refusal.Rule {
	case version.RuleDowngrade:
		f.ID = "version-downgrade"
	case version.RuleKubeletNewer, version.RuleKubeletTooOld:
		f.ID = "version-kubelet-skew"
	case version.RuleSkippedMinor:
		f.ID = "version-skip"
	default:
		f.ID = "version-unknown"
	}
	c.add(f)
}

// checkKubelets checks every kubelet: the new apiservers have to support those
// that we do not upgrade, too.
func (c *checker) checkKubelets(servers []version.Version) {
	ours := map[*node]bool{}
	for _, n := range c.nodes {
		ours[n] = true
	}
	for _, n := range c.all {
		f, who := v1alpha1.Finding{Object: n.object()}, "Node "+n.name
		var newer, older error
		if len(servers) > 0 {
			newer = version.CheckKubelet(n.kubelet, c.oldestFor(n, servers))
		}
		if c.kubeadm && (len(servers) == 0 || !c.to.Less(servers[0])) { // a downgrade is refused as such: no kubelet is at fault
			older = version.CheckKubelet(n.kubelet, c.to)
		}
		switch {
		case n.kubeletError != nil:
			if ours[n] && c.kubeadm {
				c.refused(n.kubeletError, f, who)
			}
		case newer != nil:
			c.refused(newer, f, who)
		case older != nil:
			c.refused(older, f, who)
		case c.kubeadm && ours[n] && n.kubelet.Less(c.to) && behind(n.kubelet, servers):
			f.Advice = "Wait until that node has been upgraded to the previous version, which happens by itself inside windows; or remove it."
			if !n.controlPlane {
				f.Node = n.name
			}
			c.refused(version.CheckStep(n.kubelet, c.to), f, who)
		}
	}
}

// clusterAPIDecides reports whether Cluster API decides on versions.
func (c *checker) clusterAPIDecides() bool {
	return c.Policy.VersionsFrom == v1alpha1.VersionsFromClusterAPI
}

// oldestFor returns the oldest apiserver that the node's kubelet may talk to: on a control plane that Cluster API
// upgrades, only its own, if its kubeconfig says so.
func (c *checker) oldestFor(n *node, servers []version.Version) version.Version {
	if !c.clusterAPIDecides() || n.facts == nil || !n.facts.OwnAPIServer {
		return servers[0]
	}
	for _, pod := range c.static {
		if pod.component == apiServer && pod.node == n.name && pod.versionError == nil {
			return pod.version
		}
	}
	return servers[0]
}

// behind reports whether a kubelet is of an older minor than every apiserver. What
// forbids the step of an apiserver forbids that of kubelets of the same minor, too,
// and is one finding.
func behind(kubelet version.Version, servers []version.Version) bool {
	return len(servers) == 0 || kubelet.Less(servers[0]) && !kubelet.SameLine(servers[0])
}

// checkOffered checks that there is an image for every node that still needs one. Images that
// were fixed at the trigger count whether or not they are still on offer.
func (c *checker) checkOffered() {
	if !c.kubeadm || c.Offered == nil {
		return
	}
	have := map[string]bool{}
	for _, architecture := range c.Offered {
		have[architecture] = true
	}
	for _, image := range c.Upgrade.Status.Images {
		have[string(image.Architecture)] = true
	}
	lacks := map[string][]string{}
	for _, n := range c.nodes {
		if a := n.Node.Status.NodeInfo.Architecture; !have[a] && !c.upToDate(n) {
			lacks[a] = append(lacks[a], n.name)
		}
	}
	for architecture, nodes := range lacks {
		c.add(v1alpha1.Finding{
			ID:      "image-not-offered",
			Message: fmt.Sprintf("The source offers no image of %s for %s, the architecture of %s: %s.", c.to, architecture, plural(len(nodes), "node"), names(nodes)),
		})
	}
}

// removal is a flag or field with which kubelets do not start from a minor of
// Kubernetes 1 on.
type removal struct {
	name  string
	minor int
}

// removedFlags are flags of the kubelet. What the options of v1.32.13,
// v1.33.13, v1.34.4, v1.35.4, v1.36.3 and v1.37.2 define (cmd/kubelet/app/options) was
// compared; the changelogs agree. 1.33, 1.36 and 1.37 removed none.
//
// pod-infra-container-image is not here: see kubeadmRemoves.
var removedFlags = []removal{
	{"keep-terminated-pod-volumes", 31}, // https://github.com/kubernetes/kubernetes/pull/122082
	{"runonce", 32},                     // CHANGELOG-1.32: given at all, it is an error
	{"cloud-config", 34},                // https://github.com/kubernetes/kubernetes/pull/130161
	{"register-schedulable", 34},        // https://github.com/kubernetes/kubernetes/pull/122384
}

// kubeadmRemoves are flags that the kubelet no longer knows, and that kubeadm of
// that minor takes out of /var/lib/kubelet/kubeadm-flags.env when it
// upgrades the node (cmd/kubeadm/app/cmd/phases/upgrade/postupgrade.go in
// v1.35.4), and out of no other file: the kubelet does not start only where they
// are set elsewhere.
// https://github.com/kubernetes/kubernetes/pull/133779
var kubeadmRemoves = []removal{{"pod-infra-container-image", 35}}

// removedFields are fields of the kubelet's configuration. Its types
// (k8s.io/kubelet/config/v1beta1) of v0.32.13 to v0.36.3 were compared: no
// field was removed from 1.33 to 1.36. One is still there and refused.
var removedFields = []removal{
	{"runOnce", 32}, // pkg/node/kubelet/apis/config/validation: "Runonce mode has been deprecated and should not be set"
}

// checkAPIs names each API that is called and that the version no longer serves.
func (c *checker) checkAPIs() {
	callers := map[string][]string{}
	removed := map[string]string{}
	for _, api := range c.RequestedAPIs {
		gone, err := version.Parse(api.Remove + ".0")
		if err != nil || c.to.Less(gone) {
			continue
		}
		name := apiName(api)
		callers[name] = append(callers[name], api.APIServer)
		removed[name] = api.Remove
	}
	for _, name := range slices.Sorted(maps.Keys(callers)) {
		c.add(v1alpha1.Finding{
			ID: "api-removed", Object: v1alpha1.ObjectReference{Kind: "API", Name: name},
			Message: fmt.Sprintf("%s is removed in v%s, and clients have called it since the apiserver started (metric apiserver_requested_deprecated_apis), on %s.",
				name, strings.TrimPrefix(removed[name], "v"), names(callers[name])),
		})
	}
}

// apiName returns a name such as flowcontrol.apiserver.k8s.io/v1beta3
// flowschemas/status.
func apiName(api RequestedAPI) string {
	name := api.Version
	if api.Group != "" {
		name = api.Group + "/" + name
	}
	name += " " + api.Resource
	if api.Subresource != "" {
		name += "/" + api.Subresource
	}
	return name
}
