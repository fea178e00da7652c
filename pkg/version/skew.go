package version

import "fmt"

// Rule names what a Refusal is about.
type Rule string

// The rules.
const (
	RuleNotVersion     Rule = "NotVersion"     // what names no exact patch has no place in the order
	RuleOtherMajor     Rule = "OtherMajor"     // nothing is promised across majors
	RuleDowngrade      Rule = "Downgrade"      // Kubernetes is never taken back
	RuleSkippedMinor   Rule = "SkippedMinor"   // kubeadm goes one minor at a time
	RuleKubeletNewer   Rule = "KubeletNewer"   // a kubelet is never newer than an apiserver
	RuleKubeletTooOld  Rule = "KubeletTooOld"  // a kubelet is at most three minors older than an apiserver
	RuleAPIServerApart Rule = "APIServerApart" // apiservers of one cluster are within one minor
)

// kubeletLag is how many minors a kubelet may be behind its apiserver: three
// since Kubernetes 1.28.
const kubeletLag = 3

// Refusal says which rule forbids something, in one sentence.
type Refusal struct {
	Rule    Rule
	Message string
}

func (r *Refusal) Error() string { return r.Message }

func refuse(rule Rule, format string, args ...any) error {
	return &Refusal{Rule: rule, Message: fmt.Sprintf(format, args...)}
}

// CheckStep says whether kubeadm may take something from one version to
// another: the same minor or the next, never back. It returns a *Refusal.
func CheckStep(from, to Version) error {
	switch {
	case to.Less(from):
		return refuse(RuleDowngrade, "%s is older than %s, and Kubernetes cannot be downgraded", to, from)
	case to.Major != from.Major:
		return otherMajor(from, to)
	case to.Minor > from.Minor+1:
		return refuse(RuleSkippedMinor, "from %s to %s skips a minor; kubeadm goes one at a time: v%d.%d first",
			from, to, from.Major, from.Minor+1)
	}
	return nil
}

// CheckKubelet says whether a kubelet of one version may run with an apiserver
// of another: not a newer minor, and at most three older. It returns a
// *Refusal.
func CheckKubelet(kubelet, apiserver Version) error {
	switch {
	case kubelet.Major != apiserver.Major:
		return otherMajor(kubelet, apiserver)
	case kubelet.Minor > apiserver.Minor:
		return refuse(RuleKubeletNewer, "a kubelet %s would be newer than an apiserver %s", kubelet, apiserver)
	case apiserver.Minor-kubelet.Minor > kubeletLag:
		return refuse(RuleKubeletTooOld, "a kubelet %s would be more than %d minors older than an apiserver %s",
			kubelet, kubeletLag, apiserver)
	}
	return nil
}

// CheckAPIServers says whether apiservers of these versions may serve one
// cluster: within one minor. It returns a *Refusal.
func CheckAPIServers(versions ...Version) error {
	if len(versions) == 0 {
		return nil
	}
	oldest, newest := versions[0], versions[0]
	for _, v := range versions {
		if v.Less(oldest) {
			oldest = v
		}
		if newest.Less(v) {
			newest = v
		}
	}
	switch {
	case oldest.Major != newest.Major:
		return otherMajor(oldest, newest)
	case newest.Minor-oldest.Minor > 1:
		return refuse(RuleAPIServerApart, "apiservers %s and %s would be more than one minor apart", oldest, newest)
	}
	return nil
}

func otherMajor(a, b Version) error {
	return refuse(RuleOtherMajor, "%s and %s are of different majors", a, b)
}
