package request

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/rules"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/schedule"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// Refuse returns why the upgrade is not begun. s is a snapshot in which Suppose put it,
// and decided the plan for that.
func Refuse(s clusterstate.Snapshot, decided plan.Plan, u *v1alpha1.ClusterUpgrade) error {
	return cmp.Or(
		refuseStep(s, u),
		refuseMethod(s, u),
		refuseTrigger(decided, u),
		refuseFindings(decided.Findings, u),
		refuseFreeze(s, decided, u),
	)
}

// Idle returns what makes it true that there is nothing to do, if the plan has no work. Or it returns why that is
// not so: a Rollback of nodes that are left out does not do what was asked.
func Idle(decided plan.Plan, u *v1alpha1.ClusterUpgrade) (why string, err error) {
	switch rules.TypeOf(u) {
	case v1alpha1.TypeReboot:
		return idleReboot(decided, u), nil
	case v1alpha1.TypeCertificates:
		return idleRenewal(decided), nil
	}
	to, err := version.Parse(u.Spec.Version)
	if err == nil && isRollback(u) {
		err = refuseLeftOut(decided, to)
	}
	if err != nil {
		return "", err
	}
	why, newer := "every node", ""
	var out []string
	for _, n := range decided.Nodes {
		switch {
		case n.From == to.String():
		case n.Reason == v1alpha1.ReasonUpToDate:
			newer = " or newer"
		default:
			out = append(out, fmt.Sprintf("%s (%s, %s)", n.Name, n.From, n.Reason))
		}
	}
	if len(out) > 0 {
		why += " that is not left out"
	}
	why += fmt.Sprintf(" is at %s%s", to, newer)
	if more := len(out) - mostNamed; more > 0 {
		out = append(out[:mostNamed], fmt.Sprintf("%d more", more))
	}
	if len(out) > 0 {
		why += "; left out: " + strings.Join(out, ", ")
	}
	return why, nil
}

// mostNamed is how many nodes a sentence names.
const mostNamed = 5

// refuseStep refuses a step that Kubernetes does not allow.
func refuseStep(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade) error {
	if !isOfApply(u) { // a Rollback has been checked
		return nil
	}
	to, err := version.Parse(u.Spec.Version)
	if err != nil {
		return err
	}
	for _, server := range s.APIServers {
		from, err := version.Parse(server.Version)
		if err != nil {
			continue // the plan reports it
		}
		var refused *version.Refusal
		if !errors.As(version.CheckStep(from, to), &refused) {
			continue
		}
		switch refused.Rule {
		case version.RuleSkippedMinor:
			skips, next := fmt.Sprintf("from %s to %s skips a minor, and kubeadm upgrades one minor at a time", from, to), version.Version{Major: from.Major, Minor: from.Minor + 1}.Line()
			if lacks(s, next, to) {
				return fmt.Errorf("%s, but the source offers no patch of %s; `kubectl upgrade releases` lists what is available", skips, next)
			}
			return fmt.Errorf("%s: `kubectl upgrade apply %s` first", skips, next)
		case version.RuleDowngrade:
			next := "`kubectl upgrade releases` lists what is available"
			if from.SameLine(to) {
				next = fmt.Sprintf("`kubectl upgrade rollback --all --to %s --reason TEXT` takes only kubelets back", to)
			}
			return fmt.Errorf("the cluster runs %s, and Kubernetes cannot be downgraded to %s; %s", from, to, next)
		}
		return fmt.Errorf("%w; `kubectl upgrade releases` lists what is available", refused)
	}
	return nil
}

// lacks reports whether the source is known to offer no patch of that minor. Suppose lets a source that was not read offer
// nothing but to.
func lacks(s clusterstate.Snapshot, minor string, to version.Version) bool {
	_, newest := Newest(s, minor)
	isRead := slices.ContainsFunc(s.Source.Offers, func(o clusterstate.Offer) bool { return o.Version != to.String() })
	return isRead && s.Source.Problem.Reason == "" && newest == (version.Version{})
}

// refuseMethod refuses a minor by method Restart.
func refuseMethod(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade) error {
	if u.Spec.Strategy.Method != v1alpha1.MethodRestart {
		return nil
	}
	to, err := version.Parse(u.Spec.Version)
	if err != nil {
		return err
	}
	for _, server := range s.APIServers {
		if from, err := version.Parse(server.Version); err == nil && !from.SameLine(to) {
			return fmt.Errorf("from %s to %s is a Minor, and --method Restart is for patches: leave it out, or say --method Reboot or SoftReboot", from, to)
		}
	}
	return nil
}

// refuseTrigger refuses an upgrade that the coordinator would not begin until a person
// solves a problem.
func refuseTrigger(decided plan.Plan, u *v1alpha1.ClusterUpgrade) error {
	status := statusOf(decided)
	if status == nil || status.TriggerTime != nil || !status.Stalled() {
		return nil
	}
	reason, message := status.Explain()
	if reason == v1alpha1.ReasonNotOffered && !isRollback(u) {
		return fmt.Errorf("%s; `kubectl upgrade releases` lists what is available", message)
	}
	problem := fmt.Sprintf("the coordinator would not begin with it: %s: %s", reason, message)
	if !isOfApply(u) {
		return errors.New(problem)
	}
	return fmt.Errorf("%s; `kubectl upgrade plan %s` shows more", problem, u.Spec.Version)
}

// refuseFindings refuses what a check blocks and --ignore-check does not name.
func refuseFindings(findings []v1alpha1.Finding, u *v1alpha1.ClusterUpgrade) error {
	var first *v1alpha1.Finding
	var ids []string
	for _, check := range u.Spec.IgnoreChecks { // the hint repeats them
		ids = append(ids, check.ID)
	}
	count := 0
	for i, f := range findings {
		if f.Level != v1alpha1.LevelBlock || f.Ignored {
			continue
		}
		count++
		if first == nil {
			first = &findings[i]
		}
		if !slices.Contains(ids, f.ID) {
			ids = append(ids, f.ID)
		}
	}
	if first == nil {
		return nil
	}
	more := ""
	if count > 1 {
		more = fmt.Sprintf("; and %d more", count-1)
	}
	what := fmt.Sprintf("preflight blocks: %s: %s%s; fix that", first.ID, strings.TrimSuffix(first.Message, "."), more)
	if slices.ContainsFunc(ids, func(id string) bool { return !preflight.Ignorable(id) }) {
		return errors.New(what)
	}
	ignore := "--ignore-check " + strings.Join(ids, ",") + "=REASON"
	if !isOfApply(u) {
		return fmt.Errorf("%s, or ignore it: add %s", what, ignore)
	}
	if u.Spec.RetryOf != nil {
		ignore = "--retry " + ignore
	}
	return fmt.Errorf("%s, or ignore it: `kubectl upgrade apply %s %s`", what, u.Spec.Version, ignore)
}

// refuseFreeze refuses an exclusion that holds for every node when the upgrade could
// begin. One that holds for some nodes does not keep the others from going.
func refuseFreeze(s clusterstate.Snapshot, decided plan.Plan, u *v1alpha1.ClusterUpgrade) error {
	at, kind := earliestStart(s, u), v1alpha1.UpgradeType("")
	if status := statusOf(decided); status != nil {
		kind = status.Type
	}
	schedules := schedule.NewMoment(s.Schedules, at)
	var held schedule.Verdict
	commands := ""
	for _, n := range decided.Nodes {
		if !IsToGo(n) {
			continue
		}
		i := slices.IndexFunc(s.Nodes, func(one clusterstate.Node) bool { return one.Name == n.Name })
		verdict := schedules.IgnoringWindows(s.Nodes[i].Labels, cmp.Or(n.Spec.Type, kind))
		if verdict.Reason != v1alpha1.ReasonExcluded {
			return nil
		}
		if held = verdict; commands == "" {
			commands = endExclusions(s.Schedules, s.Nodes[i].Labels, cmp.Or(n.Spec.Type, kind), at)
		}
	}
	if held.Reason == "" {
		return nil
	}
	next := "wait until it ends, give a --start-time after it, or end it: " + commands
	if u.Spec.IgnoresWindows() {
		next = "--ignore-windows does not ignore exclusions: " + next
	}
	return fmt.Errorf("%s; %s", strings.TrimSuffix(held.Message, "."), next)
}

// earliestStart returns when a supposed upgrade could begin at the earliest.
func earliestStart(s clusterstate.Snapshot, u *v1alpha1.ClusterUpgrade) time.Time {
	at := time.Time{}
	for _, one := range s.Upgrades {
		if one.Name == supposed {
			at = one.CreationTimestamp.Time
		}
	}
	if start := u.Spec.StartTime; start != nil && start.After(at) {
		return start.Time
	}
	return at
}

// reached returns the cluster with every node at least at that version, and in
// service. A node without a sysext image keeps its version.
func reached(s clusterstate.Snapshot, v version.Version) clusterstate.Snapshot {
	s.APIServers, s.Nodes, s.Slots = slices.Clone(s.APIServers), slices.Clone(s.Nodes), slices.Clone(s.Slots)
	nodeUpgrades, raised := make([]v1alpha1.NodeUpgrade, len(s.NodeUpgrades)), map[string]bool{}
	for i := range s.NodeUpgrades {
		nodeUpgrades[i] = *s.NodeUpgrades[i].DeepCopy()
		u := &nodeUpgrades[i]
		if u.Abandoned != nil {
			continue
		}
		raised[u.Name] = !u.Status.LacksImage()
		u.Spec, u.Status.Step, u.Status.Conditions, u.Status.Retry = v1alpha1.NodeUpgradeSpec{}, v1alpha1.StepIdle, nil, v1alpha1.Retry{}
		if !raised[u.Name] {
			u.Status.Step = v1alpha1.StepUnsupported
			continue
		}
		raise(v, &u.Status.Versions.Kubelet, &u.Status.Versions.Kubeadm, &u.Status.Versions.ControlPlane)
	}
	s.NodeUpgrades = nodeUpgrades
	for i := range s.APIServers {
		raise(v, &s.APIServers[i].Version)
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		isRaised, inService := raised[n.Name]
		if isRaised {
			raise(v, &n.Kubelet)
		}
		if inService {
			n.Ready, n.SlotAnnotation = n.Ready || n.SlotAnnotation != "", ""
		}
	}
	for i := range s.Slots {
		s.Slots[i].ReservedFor, s.Slots[i].Holder = clusterstate.Owner{}, clusterstate.Owner{}
	}
	return s
}

// raise replaces older versions by v. A text that is no version stays as it is.
func raise(v version.Version, versions ...*string) {
	for _, text := range versions {
		if had, err := version.Parse(*text); err == nil && had.Less(v) {
			*text = v.String()
		}
	}
}

// CompleteFacts completes the facts that the checks look at by those of the snapshot: the
// objects of the project's kinds, and the versions of nodes and apiservers, as a snapshot may
// suppose that other upgrades have ended.
func CompleteFacts(facts *preflight.Facts, s clusterstate.Snapshot) {
	kubelets, servers := map[string]version.Version{}, map[string]version.Version{}
	for _, n := range s.Nodes {
		kubelets[n.Name], _ = version.Parse(n.Kubelet)
	}
	for _, pod := range s.APIServers {
		servers[pod.Node], _ = version.Parse(pod.Version)
	}
	facts.NodeUpgrades, facts.Inventories, facts.Schedules = s.NodeUpgrades, s.Inventories, s.Schedules
	for i := range facts.Nodes {
		raise(kubelets[facts.Nodes[i].Name], &facts.Nodes[i].Status.NodeInfo.KubeletVersion)
	}
	for i := range facts.SystemPods {
		pod := &facts.SystemPods[i]
		had := clusterstate.StaticPodVersion(pod)
		has := had
		if raise(servers[pod.Spec.NodeName], &has); has != had && pod.Labels["component"] == "kube-apiserver" {
			pod.Spec.Containers[0].Image = "kube-apiserver:" + has
		}
	}
}

// GitOwner returns the name of what keeps the object as it is in Git, or in a chart, and
// would undo a change made here. Empty: nothing does. The marks are those of
// https://fluxcd.io/flux/components/kustomize/kustomizations/#controlling-the-apply-behavior-of-resources,
// https://fluxcd.io/flux/components/helm/helmreleases/,
// https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/ and
// https://helm.sh/docs/chart_best_practices/labels/.
func GitOwner(o metav1.Object) string {
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	argo, _, _ := strings.Cut(annotations["argocd.argoproj.io/tracking-id"], ":")
	argo = cmp.Or(argo, labels["argocd.argoproj.io/instance"])
	switch {
	case labels["kustomize.toolkit.fluxcd.io/name"] != "":
		return "Flux Kustomization " + labels["kustomize.toolkit.fluxcd.io/namespace"] + "/" + labels["kustomize.toolkit.fluxcd.io/name"]
	case labels["helm.toolkit.fluxcd.io/name"] != "":
		return "Flux HelmRelease " + labels["helm.toolkit.fluxcd.io/namespace"] + "/" + labels["helm.toolkit.fluxcd.io/name"]
	case argo != "":
		return "Argo CD application " + argo
	}
	manager := gitManager(o.GetManagedFields())
	// Argo CD's default mark is a label that others use as well: it counts
	// where Argo CD wrote the object.
	if instance := labels["app.kubernetes.io/instance"]; instance != "" && strings.HasPrefix(manager, "Argo CD") {
		return "Argo CD application " + instance
	}
	if release := annotations["meta.helm.sh/release-name"]; release != "" && manager == "" {
		return "Helm release " + annotations["meta.helm.sh/release-namespace"] + "/" + release
	}
	return manager
}

// gitManagers are the names under which controllers that follow Git write.
var gitManagers = map[string]string{
	"kustomize-controller":          "Flux (kustomize-controller)",
	"helm-controller":               "Flux (helm-controller)",
	"argocd-controller":             "Argo CD (argocd-controller)",
	"argocd-application-controller": "Argo CD (argocd-application-controller)",
}

func gitManager(entries []metav1.ManagedFieldsEntry) string {
	for _, entry := range entries {
		if owner := gitManagers[entry.Manager]; owner != "" && entry.Subresource == "" {
			return owner
		}
	}
	return ""
}
