package request

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Upgrade is a request for an upgrade: the arguments of `kubectl upgrade apply`, `rollback`,
// `reboot` or `certificates renew`. An empty field leaves the choice to the UpgradePolicy.
type Upgrade struct {
	// Type is Rollback, Reboot, Certificates, or empty: then the nodes are brought to Version.
	Type v1alpha1.UpgradeType
	// Version is a release such as v1.35.4, or a minor such as v1.35; of a Rollback a release, or
	// empty. A Reboot and a renewal of certificates have none.
	Version string
	// Nodes are the names of those that are taken back or rebooted, or whose certificates are renewed. Empty: every
	// managed node, or control plane.
	Nodes          []string
	Force          bool       // a Reboot reboots them whether they ask for it or not
	Reason         string     // why it is requested
	StartTime      *time.Time // nil: at once
	MaxUnavailable string     // a number, or a percentage
	Method         string
	IgnoreWindows  bool
	IgnoreChecks   []v1alpha1.IgnoredCheck
	IgnoreGates    []v1alpha1.IgnoredGate
	Retry          bool     // it takes the place of the upgrade that failed
	Flags          []string // the flags that were given for the fields above, such as --method
}

// Existing returns the upgrade that asks for the same and has not ended. Nil: there
// is none.
func (r Upgrade) Existing(s clusterstate.Snapshot, to version.Version, at time.Time) (*v1alpha1.ClusterUpgrade, error) {
	for _, u := range queueOf(s, at) {
		switch failed := hasFailed(u.ClusterUpgrade); {
		case u.Spec.Version != r.specVersion(to) || !r.isLike(s, u.ClusterUpgrade) || failed && u.RetriedBy != nil:
		case r.Retry && failed:
			return nil, nil
		case r.Retry && u.Spec.RetryOf == nil:
			return nil, fmt.Errorf("--retry: ClusterUpgrade %s asks for %s already, and has not failed; leave out --retry to follow it", u.Name, Asked(u.ClusterUpgrade))
		default:
			if flags := r.conflicts(u.ClusterUpgrade); len(flags) > 0 {
				return nil, fmt.Errorf("ClusterUpgrade %s asks for %s already, and %s would change it: leave that out to follow it, or `kubectl edit clusterupgrade %s`",
					u.Name, Asked(u.ClusterUpgrade), strings.Join(flags, ", "), u.Name)
			}
			return u.ClusterUpgrade, nil
		}
	}
	return nil, nil
}

// specVersion returns what the request's spec.version is.
func (r Upgrade) specVersion(to version.Version) string {
	if !r.Type.HasVersion() {
		return ""
	}
	return to.String()
}

// Asked returns what the upgrade asks for, such as v1.34.4.
func Asked(u *v1alpha1.ClusterUpgrade) string {
	if rules.TypeOf(u) == v1alpha1.TypeCertificates {
		return "new certificates"
	}
	return cmp.Or(u.Spec.Version, "a reboot")
}

// conflicts returns the flags that ask for something else than u does. A flag that
// was not given asks for nothing, and checks that u ignores need not be named again:
// so the command that created an upgrade always follows it. What is to be ignored, too, is
// no conflict: Ignores returns it.
func (r Upgrade) conflicts(u *v1alpha1.ClusterUpgrade) []string {
	spec, strategy := u.Spec, u.Spec.Strategy.Or(u.Status.Strategy)
	agrees := map[string]bool{
		"--start-time":      r.StartTime == nil || spec.StartTime != nil && spec.StartTime.Time.Equal(*r.StartTime),
		"--max-unavailable": r.MaxUnavailable == "" || strategy.MaxUnavailable != nil && *strategy.MaxUnavailable == intstr.Parse(r.MaxUnavailable),
		"--method":          r.Method == "" || string(strategy.Method) == r.Method,
		"--reason":          r.Reason == spec.Comment,
		"--ignore-windows":  r.IgnoreWindows || !spec.IgnoresWindows(),
	}
	return slices.DeleteFunc(slices.Clone(r.Flags), func(flag string) bool { return agrees[flag] })
}

// CheckGates returns an error for a gate to ignore that the policy, which may be nil, does not have.
func (r Upgrade) CheckGates(policy *v1alpha1.UpgradePolicy) error {
	var names []string
	if policy != nil {
		for _, g := range policy.Spec.Gates {
			names = append(names, g.Name)
		}
	}
	for _, g := range r.IgnoreGates {
		switch {
		case slices.Contains(names, g.Name):
		case len(names) == 0:
			return fmt.Errorf("--ignore-gate=%s: UpgradePolicy %s has no gates", g.Name, v1alpha1.PolicyName)
		default:
			return fmt.Errorf("--ignore-gate=%s: UpgradePolicy %s has no such gate; it has %s", g.Name, v1alpha1.PolicyName, strings.Join(names, ", "))
		}
	}
	return nil
}

// Object returns the ClusterUpgrade to create for the request.
func (r Upgrade) Object(s clusterstate.Snapshot, to version.Version, at time.Time) (*v1alpha1.ClusterUpgrade, error) {
	u := &v1alpha1.ClusterUpgrade{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterUpgrade"},
		ObjectMeta: metav1.ObjectMeta{Name: unusedName(s.Upgrades, to.Name())},
		Spec: v1alpha1.ClusterUpgradeSpec{
			Version: r.specVersion(to), Comment: r.Reason, IgnoreChecks: r.IgnoreChecks, IgnoreGates: r.IgnoreGates,
			Strategy: v1alpha1.Strategy{Method: v1alpha1.Method(r.Method)},
		},
	}
	if r.IgnoreWindows {
		u.Spec.WindowPolicy = v1alpha1.WindowPolicyIgnore
	}
	if r.StartTime != nil {
		u.Spec.StartTime = &metav1.Time{Time: *r.StartTime}
	}
	if r.MaxUnavailable != "" {
		limit := intstr.Parse(r.MaxUnavailable)
		u.Spec.Strategy.MaxUnavailable = &limit
	}
	var err error
	switch r.Type {
	case v1alpha1.TypeRollback:
		err = r.takeBack(s, u, to)
	case v1alpha1.TypeReboot:
		err = r.reboot(s, u, at)
	case v1alpha1.TypeCertificates:
		err = r.renew(s, u, at)
	}
	if err == nil {
		u.Spec.RetryOf, err = r.retryOf(s, u, to, at)
	}
	return u, err
}

// retryOf returns the failed upgrade whose place the request takes. Nil: nothing failed.
func (r Upgrade) retryOf(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade, to version.Version, at time.Time) (*v1alpha1.RetriedUpgrade, error) {
	if queue := queueOf(withoutTaken(s, u), at); len(queue) > 0 && hasFailed(queue[0].ClusterUpgrade) {
		active := queue[0]
		if r.Retry {
			return active.Retry(), nil
		}
		_, message := active.Status.Explain()
		return nil, fmt.Errorf("ClusterUpgrade %s has failed (%s) and is still active, so this one would wait behind it: fix that, or add --retry to replace it", active.Name, message)
	}
	last := r.lastTo(s, to)
	switch failed := last != nil && (last.Status.Outcome == v1alpha1.OutcomeFailed || last.Status.Outcome == v1alpha1.OutcomeRolledBack); {
	case last != nil && r.Retry && hookFailed(s.Policy, last):
		return last.Retry(), nil
	case failed && r.Retry:
		return last.Retry(), nil
	case failed && !r.Type.HasVersion(): // a later one is another request
	case failed:
		return nil, fmt.Errorf("the last upgrade to %s, %s, ended: %s: see `kubectl upgrade history %s`, and add --retry to start again", to, last.Name, last.Status.Outcome, last.Name)
	case r.Retry && r.Type == v1alpha1.TypeReboot:
		return nil, errors.New("--retry: no Reboot of the same nodes has failed")
	case r.Retry && r.Type == v1alpha1.TypeCertificates:
		return nil, errors.New("--retry: no renewal of certificates of the same nodes has failed")
	case r.Retry:
		return nil, fmt.Errorf("--retry: no upgrade to %s has failed", to)
	}
	return nil, nil //nolint:nilnil // there is none
}

// hasFailed reports whether a node or a hook failed in the upgrade, so that it does not go on.
func hasFailed(u *v1alpha1.ClusterUpgrade) bool {
	reason, _ := u.Status.Explain()
	return u.Status.Stalled() && (reason == v1alpha1.ReasonNodeFailed || reason == v1alpha1.ReasonHookFailed)
}

// RetriesHook reports whether u retries an upgrade of which a hook failed: there may be no other work.
func RetriesHook(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade) bool {
	return slices.ContainsFunc(s.Upgrades, func(other v1alpha1.ClusterUpgrade) bool {
		return u.Spec.Retries(&other) && hookFailed(s.Policy, &other)
	})
}

// hookFailed reports whether a hook of the upgrade failed, such as that of a node that joined late.
func hookFailed(policy *v1alpha1.UpgradePolicy, u *v1alpha1.ClusterUpgrade) bool {
	return policy != nil && slices.ContainsFunc(policy.Status.HookTurns, func(t v1alpha1.HookTurn) bool {
		return t.Upgrade.UID == string(u.UID) && slices.ContainsFunc(t.Hooks, func(run v1alpha1.HookRun) bool { return run.State == v1alpha1.HookFailed })
	})
}

// lastTo returns the upgrade like this one to that version that ended last. Nil: there is none.
func (r Upgrade) lastTo(s clusterstate.Snapshot, to version.Version) *v1alpha1.ClusterUpgrade {
	var last *v1alpha1.ClusterUpgrade
	for i := range s.Upgrades {
		u := &s.Upgrades[i]
		if u.Spec.Version == r.specVersion(to) && r.isLike(s, u) && u.Status.Outcome != "" && (last == nil || last.Status.EndTime.Before(u.Status.EndTime)) {
			last = u
		}
	}
	return last
}

// unusedName returns the name, or the name with the first number that no upgrade
// bears.
func unusedName(upgrades []v1alpha1.ClusterUpgrade, base string) string {
	name := base
	for n := 2; slices.ContainsFunc(upgrades, func(u v1alpha1.ClusterUpgrade) bool { return u.Name == name }); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	return name
}

var minor = regexp.MustCompile(`^v?1\.(0|[1-9]\d{0,3})$`)

// CheckVersion returns an error unless the text names a release or a minor.
func CheckVersion(text string) error {
	if minor.MatchString(text) {
		return nil
	}
	_, err := parse(text)
	return err
}

// withoutVersion are types of upgrade that other commands request, as people may type them for a version.
var withoutVersion = map[string]string{
	"reboot":       "`kubectl upgrade reboot` reboots nodes",
	"rollback":     "`kubectl upgrade rollback` takes kubelets back",
	"certificates": "`kubectl upgrade certificates renew` has kubeadm renew certificates",
}

// parse returns the release that the text names.
func parse(text string) (version.Version, error) {
	v, err := version.Parse(text)
	if instead := withoutVersion[strings.ToLower(text)]; instead != "" {
		return v, fmt.Errorf("VERSION %q is no version: %s", text, instead)
	}
	if err != nil {
		return v, fmt.Errorf("VERSION %q: expected a version such as v1.34.4, or a minor such as v1.34", text)
	}
	return v, nil
}

// Target returns the version that the request asks for, and where it names a minor a
// note about the patch. A minor for which there is an unfinished upgrade is that
// upgrade's patch: it was chosen when that was created.
func (r Upgrade) Target(s clusterstate.Snapshot, at time.Time) (to version.Version, note string, err error) {
	switch r.Type {
	case v1alpha1.TypeRollback:
		return r.former(s, at)
	case v1alpha1.TypeReboot:
		note, err = r.asking(s)
		return to, note, err
	case v1alpha1.TypeCertificates:
		return to, "", r.checkRenewed(s)
	}
	u := unfinishedTo(s, r.Version, r.Retry, at)
	if u == nil {
		return resolve(s, r.Version)
	}
	to, err = version.Parse(u.Spec.Version)
	more := ""
	if newer, _ := Newest(s, to.Line()); to.Less(newer) {
		more = fmt.Sprintf("; %s is available too: `kubectl upgrade apply %s` requests it", newer, newer)
	}
	return to, fmt.Sprintf("%s is %s, the patch of ClusterUpgrade %s%s.", r.Version, to, u.Name, more), err
}

// unfinishedTo returns the unfinished upgrade to the newest patch of the minor. Nil:
// there is none, or text is no minor. With retry, one that failed does not count.
func unfinishedTo(s clusterstate.Snapshot, text string, retry bool, at time.Time) (found *v1alpha1.ClusterUpgrade) {
	m := minor.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	var highest version.Version
	for _, u := range queueOf(s, at) {
		to, err := version.Parse(u.Spec.Version)
		counts := err == nil && !isRollback(u.ClusterUpgrade) && to.Line() == "v1."+m[1] && to.Pre == "" && (!retry || !hasFailed(u.ClusterUpgrade))
		if counts && !to.Less(highest) {
			found, highest = u.ClusterUpgrade, to
		}
	}
	return found
}

// resolve reads a version, or finds a minor's newest patch on offer: of those that
// there are for every architecture of the cluster, if there is one. The note says
// which patch a minor was taken for.
func resolve(s clusterstate.Snapshot, text string) (to version.Version, note string, err error) {
	m := minor.FindStringSubmatch(text)
	if m == nil {
		to, err = parse(text)
		return to, "", err
	}
	to, newest := Newest(s, "v1."+m[1])
	if to == (version.Version{}) {
		to = newest
	}
	switch problem := s.Source.Problem; {
	case to != version.Version{}:
		return to, fmt.Sprintf("%s is %s, its newest patch.", text, to), nil
	case problem.Reason != "":
		return to, "", fmt.Errorf("looking for the newest patch of %s: %s: %s; give the full version", text, problem.Reason, problem.Message)
	}
	return to, "", fmt.Errorf("the source offers no patch of %s; `kubectl upgrade releases` lists what is available", text)
}

// Newest returns a minor's newest patch that is on offer for every architecture of
// the cluster, and the newest of all; the zero version without one. A pre-release
// is never among them: a request has to give its full name.
func Newest(s clusterstate.Snapshot, line string) (complete, newest version.Version) {
	for _, offer := range s.Source.Offers {
		v, err := version.Parse(offer.Version)
		if err != nil || v.Line() != line || v.Pre != "" {
			continue
		}
		if newest.Less(v) {
			newest = v
		}
		if complete.Less(v) && offeredToAll(s, offer.Version) {
			complete = v
		}
	}
	return complete, newest
}

// offeredToAll reports whether the version is on offer for every node.
func offeredToAll(s clusterstate.Snapshot, text string) bool {
	return !slices.ContainsFunc(s.Nodes, func(n clusterstate.Node) bool {
		offered := slices.ContainsFunc(s.Source.Offers, func(o clusterstate.Offer) bool {
			return o.Version == text && string(o.Image.Architecture) == n.Architecture
		})
		return (n.OS == "" || n.OS == "linux") && !offered
	})
}

// CheckName returns an error that says of what an object's name consists, if this is none:
// a DNS subdomain (RFC 1123).
func CheckName(name string) error {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("%q must be of %s", name, NameRule(validation.DNS1123SubdomainMaxLength))
	}
	return nil
}

// periodName is the API's rule for the name of a window or exclusion; its length is limited there,
// too.
var periodName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// CheckPeriodName is CheckName for a window or an exclusion.
func CheckPeriodName(name string) error {
	if !periodName.MatchString(name) {
		return fmt.Errorf("%q must be of %s", name, NameRule(63))
	}
	return nil
}

// NameRule says of what a name of at most so many characters consists.
func NameRule(most int) string {
	return fmt.Sprintf("up to %d lower-case letters, digits, '-' and '.', and begin and end with a letter or digit", most)
}
