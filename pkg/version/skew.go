package version

import "fmt"

// Rule identifies the rule that a Refusal is based on.
type Rule string

// The rules.
const (
	RuleNotVersion     Rule = "NotVersion"     // a version names an exact patch
	RuleOtherMajor     Rule = "OtherMajor"     // majors are not comparable
	RuleDowngrade      Rule = "Downgrade"      // Kubernetes is never downgraded
	RuleSkippedMinor   Rule = "SkippedMinor"   // kubeadm goes one minor at a time
	RuleKubeletNewer   Rule = "KubeletNewer"   // a kubelet is never newer than an apiserver
	RuleKubeletTooOld  Rule = "KubeletTooOld"  // a kubelet is at most three minors older than an apiserver
	RuleAPIServerApart Rule = "APIServerApart" // apiservers of one cluster are within one minor
	RuleOtherMinor     Rule = "OtherMinor"     // a kubelet goes back within its minor only
)

// kubeletLag is how many minors a kubelet may be behind its apiserver: three
// since Kubernetes 1.28.
const kubeletLag = 3

// Refusal is the error of a step that a rule forbids.
type Refusal struct {
	Rule    Rule
	Message string
}

func (r *Refusal) Error() string { return r.Message }

func refuse(rule Rule, format string, args ...any) error {
	return &Refusal{Rule: rule, Message: fmt.Sprintf(format, args...)}
}

// CheckStep returns a *Refusal if kubeadm does not allow an upgrade from one version to
// another: only to the same minor or the next, never back.
func CheckStep(from, to Version) error {
	switch {
	case to.Less(from):
		return refuse(RuleDowngrade, "%s is older than %s, and Kubernetes cannot be downgraded", to, from)
	case to.Major != from.Major:
		return otherMajor(from, to)
	case to.Minor > from.Minor+1:
		return refuse(RuleSkippedMinor, "from %s to %s skips a minor; kubeadm upgrades one minor at a time: v%d.%d first",
			from, to, from.Major, from.Minor+1)
	}
	return nil
}

// CheckRollback returns a *Refusal if a kubelet may not go back from one version to another: only to
// the same minor.
func CheckRollback(from, to Version) error {
	if !from.SameLine(to) {
		return refuse(RuleOtherMinor, "%s is of another minor than %s, and a kubelet is taken back within its minor only", to, from)
	}
	return nil
}

// CheckKubelet returns a *Refusal if a kubelet may not run with an apiserver: its minor
// must not be newer, and at most three older.
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

// CheckAPIServers returns a *Refusal if apiservers of these versions may not serve one
// cluster: they must be within one minor.
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
