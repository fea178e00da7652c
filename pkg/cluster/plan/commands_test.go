package plan_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
)

// script is a simulated cluster that executes commands.
type script struct{ *sim }

// run executes one command. Arguments are words, or key=value.
//
//	node NAME VERSION [control-plane] [packages] [label=value] [arch=arm64] [os=windows] [uid=U]
//	                             packages: its Kubernetes does not come as a sysext image
//	delete NODE                  deletes the Node
//	ready NODE | notready NODE
//	guard NODE MESSAGE           its guard writes that on the Node
//	pod NODE PROBLEM | pod NODE Ready   its agent's pod
//	cordon NODE | uncordon NODE  by another client
//	took NODE DURATION           adds a pass of last week to its steps
//	manager NAME stays|passes MESSAGE [on=NODE,NODE] [since=TIME], or manager none
//	finding block|warn ID [node=NODE] MESSAGE, or finding none
//	unchecked MESSAGE            why preflight cannot run, or unchecked none
//	webhook NAME NODE...         it has a ready backend on each; or webhook none
//	findings                     prints what the upgrade's status lists, and how often preflight ran
//	etcd NODE ready|away         sets its etcd member
//	member NODE                  a node without the control plane's label has a member of etcd
//	forge NODE VERSION | unforge NODE  its kubelet creates pods that look like a control plane's
//	reports NODE COMPONENT... [local]  which of a control plane's components its agent reports, and
//	                             whether its kubelet talks to its own apiserver
//	rehearsal NODE VERSION Node|Version [MESSAGE]  what its agent found in a rehearsal of a boot with the version
//	certificates NODE AGE LIFE [former|elsewhere|disabled]  what its agent found: how long ago kubeadm issued them, for how long
//	source VERSION...            offered for both architectures
//	trouble REASON TEXT          the index cannot be used
//	schedule NAME START END [rule=R] [zone=Z] [exclude=TYPE|all] [nodes=SELECTOR]
//	automatic Patch|Reboot|Certificates [age=DURATION] [notice=DURATION] [interval=DURATION] [remaining=DURATION]...  what the policy creates by itself
//	offered VERSION TIME         since when the policy's status lists it
//	manage SELECTOR              which nodes the policy selects
//	mode Observe|Manage          the policy's
//	versions Requests|ClusterAPI  who decides on them, by the policy
//	request UPGRADE NODE...      the nodes that Cluster API asks for, and no others
//	strategy [groups=a,b] [approval] [approve-groups=a,b] [method=M]  the policy's
//	upgrade NAME [VERSION] [type=T] [reboots=Always] [reason=TEXT] [max=N] [groups=a,b] [suspend] [start=TIME] [ignore] [method=M] [retry=UPGRADE]
//	        [nodes=SELECTOR] [approval] [approve-groups=a,b] [failures=N] [minready=DURATION] [group-minready=DURATION] [uid=U]
//	        [cordoned=Count]
//	remove UPGRADE
//	set UPGRADE suspend=true|false | max=N | snapshot=Required|Skip | cordoned=Count|Ignore | check=ID | approved=upgrade|GROUP
//	agent NODE step=S since=TIME reason=R message=M retry=TIME staged=V pulled=V snapshot=PATH active=V mounted=PATH systemd=V
//	os NODE asks|content         whether its operating system requires a reboot
//	boots NODE                   it boots by itself
//	abandon NODE REASON
//	lose NODE                    a person deletes its NodeUpgrade, whose status its agent writes again
//	mark NODE [SLOT]             its kubelet writes the mark of that slot, or removes it
//	hold NODE | unhold NODE      sets or removes the label that holds it
//	hangs NODE | wakes NODE      its agent stops; continues
//	drop SLOT                    a person deletes the Lease
//	take NODE                    its agent takes the slot, and writes nothing else
//	slots                        prints the Leases
//	gate NAME [at=POINT,…]       adds a gate to the policy
//	answer NAME STATE MESSAGE    sets its answer; STATE none: it has not been asked
//	change-policy                a person changes the policy's spec
//	managed                      prints whose NodeUpgrade says that it is managed
//	orders                       prints the type and method that NodeUpgrades order
//	slow                         pulls and snapshots take a step of their own
//	snapshots                    prints which nodes must take one, and which one is recorded
//	now TIME                     sets the clock
//	forget                       agents drop the steps of the previous upgrade
//	record UPGRADE               prints the record of each node
//	decide NAME…                 prints the plan, with the messages of these nodes and upgrades
//	predict                      prints it with each node's predicted times
//	tick N                       N times: decide, write, one step of each agent
//	run                          tick until nothing changes; prints each change
func (s *script) run(out *strings.Builder, words []string) error {
	name, args := words[0], words[1:]
	option := options(args)
	switch name {
	case "node":
		s.addNode(args, option)
	case "delete":
		s.Nodes = slices.DeleteFunc(s.Nodes, func(n clusterstate.Node) bool { return n.Name == args[0] })
		s.NodeUpgrades = slices.DeleteFunc(s.NodeUpgrades, func(n v1alpha1.NodeUpgrade) bool { return n.Name == args[0] })
	case "ready", "notready":
		n, since := s.node(args[0]), s.now
		n.Ready, n.NotReadySince = name == "ready", &since
	case "guard":
		n := s.node(args[0])
		n.Guard = &clusterstate.GuardReport{Upgrade: s.nodeUpgrade(args[0], n.UID).Status.Upgrade.UID, Time: s.now, Message: strings.Join(args[1:], " ")}
	case "pod":
		n, since := s.node(args[0]), s.now
		if n.AgentProblem, n.AgentProblemSince = strings.Join(args[1:], " "), &since; args[1] == "Ready" {
			n.AgentProblem, n.AgentProblemSince = "", nil
		}
		s.hung[n.Name] = args[1] != "Ready"
	case "cordon":
		s.node(args[0]).Cordoned = true
	case "uncordon":
		s.node(args[0]).Cordoned = false
	case "took":
		return s.took(args[0], args[1])
	case "manager":
		s.RebootManagers = nil
		if args[0] != "none" {
			s.RebootManagers = []clusterstate.RebootManager{{Name: args[0], Passes: args[1] == "passes", Message: strings.Join(args[2:], " ")}}
			if text, ok := option["since"]; ok {
				since, err := time.Parse(time.RFC3339, text)
				if err != nil {
					return err
				}
				s.RebootManagers[0].Since = &since
				s.RebootManagers[0].Message = strings.TrimSuffix(s.RebootManagers[0].Message, " since="+text)
			}
			if nodes := option["on"]; nodes != "" {
				s.RebootManagers[0].Nodes, s.RebootManagers[0].Message = strings.Split(nodes, ","), strings.Join(args[3:], " ")
			}
		}
	case "finding":
		s.setFindings(args, option)
	case "webhook":
		s.Webhooks = nil
		if args[0] != "none" {
			s.Webhooks = []clusterstate.Webhook{{Name: args[0], Kind: "ValidatingWebhookConfiguration", Configuration: "policy", Namespace: "policy", Service: args[0], Nodes: args[1:]}}
		}
	case "unchecked":
		s.PreflightProblem = strings.TrimPrefix(strings.Join(args, " "), "none")
	case "findings":
		s.printFindings(out)
	case "etcd":
		i := slices.IndexFunc(s.Etcd, func(pod clusterstate.StaticPod) bool { return pod.Node == args[0] })
		s.Etcd[i].Ready = args[1] == "ready"
	case "member":
		s.Etcd = append(s.Etcd, clusterstate.StaticPod{Node: args[0], Ready: true})
	case "forge":
		s.APIServers = append(s.APIServers, clusterstate.StaticPod{Node: args[0], Version: args[1], Ready: true})
		s.Etcd = append(s.Etcd, clusterstate.StaticPod{Node: args[0], Ready: true})
	case "unforge":
		ofNode := func(pod clusterstate.StaticPod) bool { return pod.Node == args[0] }
		s.APIServers, s.Etcd = slices.DeleteFunc(s.APIServers, ofNode), slices.DeleteFunc(s.Etcd, ofNode)
	case "reports":
		s.report(s.node(args[0]), args[1:])
	case "rehearsal":
		s.rehearse(s.node(args[0]), args[1], v1alpha1.RehearsalCause(args[2]), strings.Join(args[3:], " "))
	case "certificates":
		return s.certify(s.node(args[0]), args[1], args[2], strings.Join(args[3:], " "))
	case "source":
		s.offer(args)
	case "replace":
		for i := range s.Source.Offers {
			if s.Source.Offers[i].Version == args[0] {
				s.Source.Offers[i].Image.Digest = v1alpha1.DigestOf(strings.Repeat("b", 64))
			}
		}
	case "lose":
		u := s.nodeUpgrade(args[0], s.node(args[0]).UID)
		u.Spec = v1alpha1.NodeUpgradeSpec{Managed: u.Spec.Managed}
	case "mark":
		s.node(args[0]).SlotAnnotation = strings.Join(args[1:], "")
	case "hold":
		s.node(args[0]).Labels[v1alpha1.HoldLabel] = ""
	case "unhold":
		delete(s.node(args[0]).Labels, v1alpha1.HoldLabel)
	case "manage":
		s.policy().Spec.NodeSelector = selector(args[0])
	case "mode":
		s.policy().Spec.Mode = v1alpha1.ManagementMode(args[0])
	case "versions":
		s.policy().Spec.VersionsFrom = v1alpha1.VersionsFrom(args[0])
	case "request":
		s.request(s.upgrade(args[0]), args[1:])
	case "strategy":
		s.policy().Spec.Strategy.Groups, s.policy().Spec.Strategy.Method = groups(option["groups"]), v1alpha1.Method(option["method"])
		return setStrategy(&s.policy().Spec.Strategy, option)
	case "gate":
		gate := v1alpha1.Gate{Name: args[0]}
		for point := range strings.FieldsFuncSeq(option["at"], func(r rune) bool { return r == ',' }) {
			gate.At = append(gate.At, v1alpha1.GatePoint(point))
		}
		if soak := option["soak"]; soak != "" {
			seconds, err := strconv.ParseInt(soak, 10, 32)
			if err != nil {
				return err
			}
			gate.Cluster = &v1alpha1.ClusterGate{KubeconfigSecretRef: v1alpha1.SecretKeyReference{Name: "staging"}, SoakSeconds: int32(seconds)}
		}
		s.policy().Spec.Gates = append(s.policy().Spec.Gates, gate)
	case "followed":
		return s.followed(args[0], args[1:])
	case "hook":
		return s.addHook(args, option)
	case "unhook":
		s.policy().Spec.Hooks = slices.DeleteFunc(s.policy().Spec.Hooks, func(h v1alpha1.Hook) bool { return h.Name == args[0] })
	case "jobs":
		s.jobEnds[args[0]] = args[1]
	case "block":
		s.policy().Spec.BlockedVersions = append(s.policy().Spec.BlockedVersions, v1alpha1.BlockedVersion{Version: args[0], Comment: strings.Join(args[1:], " ")})
	case "answer":
		s.answer(args[0], v1alpha1.GateState(args[1]), strings.Join(args[2:], " "))
	case "change-policy":
		s.policy().Generation++
	case "delete-policy":
		s.deletePolicy(out)
	case "offered":
		return s.offered(args[0], args[1])
	case "automatic":
		return s.automatic(args)
	case "trouble":
		s.Source.Problem = clusterstate.Hold{Reason: v1alpha1.Reason(args[0]), Message: strings.Join(args[1:], " ")}
	case "schedule":
		return s.addSchedule(args, option)
	case "upgrade":
		return s.addUpgrade(args, option)
	case "remove":
		s.Upgrades = slices.DeleteFunc(s.Upgrades, func(u v1alpha1.ClusterUpgrade) bool {
			if u.Name == args[0] && u.Status.Outcome == "" {
				s.Deleted = append(s.Deleted, u)
			}
			return u.Name == args[0]
		})
	case "set":
		s.upgrade(args[0]).Generation++
		setSpec(s.upgrade(args[0]), option)
	case "agent":
		return s.setAgentStatus(args[0], option)
	case "os":
		askForReboot(&s.nodeUpgrade(args[0], s.node(args[0]).UID).Status, args[1] == "asks")
	case "boots":
		s.boot(s.node(args[0]), &s.nodeUpgrade(args[0], s.node(args[0]).UID).Status)
	case "abandon":
		s.abandon(s.node(args[0]), strings.Join(args[1:], " "))
	case "snapshots":
		s.printSnapshots(out)
	case "slow":
		s.slow = true
	case "hangs", "wakes":
		s.hung[args[0]] = name == "hangs"
	case "now":
		t, err := time.Parse(time.RFC3339, args[0])
		s.now = t
		return err
	case "decide":
		printPlan(out, s.decide(), args...)
	case "predict":
		s.decide()
		printPlan(out, plan.Predict(s.Snapshot, s.now))
	case "tick":
		n, _ := strconv.Atoi(args[0])
		for range n {
			s.step()
		}
	case "run":
		s.runUntilStable(out)
	case "forget":
		s.dropSteps = true
	case "records":
		for _, r := range s.Records {
			fmt.Fprintf(out, "%s %s %d/%d %s: %s\n", r.Name, r.Spec.Outcome, r.Spec.Counts.Done, r.Spec.Counts.Total, r.Spec.Reason, r.Spec.Message)
		}
	case "record":
		s.printRecord(out, args[0])
	case "drop":
		s.Slots = slices.DeleteFunc(s.Slots, func(slot clusterstate.Slot) bool { return slot.Name == args[0] })
	case "managed":
		var names []string
		for _, u := range s.NodeUpgrades {
			if u.Spec.Managed {
				names = append(names, u.Name)
			}
		}
		fmt.Fprintf(out, "managed: %s\n", strings.Join(names, " "))
	case "orders":
		for _, u := range s.NodeUpgrades {
			fmt.Fprintf(out, "%-4s %s by %s\n", u.Name, u.Spec.Type, u.Spec.Method)
		}
	case "ran":
		for _, r := range s.policy().Status.Ran {
			out.WriteString(ranLine(r))
		}
	case "taken":
		for _, t := range s.policy().Status.TakenBack {
			fmt.Fprintf(out, "%s by %s: %s\n", t.Version, t.Upgrade.Name, t.Comment)
		}
	case "take":
		s.take(s.node(args[0]))
	case "slots":
		for _, slot := range s.Slots {
			fmt.Fprintf(out, "%s reserved for %q, held by %q\n", slot.Name, slot.ReservedFor.Node, slot.Holder.Node)
		}
	default:
		return fmt.Errorf("no such command")
	}
	return nil
}

// answer sets the answer of a gate from now on; none: it has not been asked.
func (s *script) answer(name string, state v1alpha1.GateState, message string) {
	status := &s.policy().Status
	status.Gates = slices.DeleteFunc(status.Gates, func(g v1alpha1.GateStatus) bool { return g.Name == name })
	if state != "none" {
		now := metav1.NewTime(s.now)
		status.Gates = append(status.Gates, v1alpha1.GateStatus{Name: name, State: state, Message: message, SinceTime: now, AskedTime: now})
	}
}

func (s *script) printSnapshots(out *strings.Builder) {
	for _, n := range plan.Decide(s.Snapshot, s.now).Nodes {
		if n.Spec.EtcdSnapshotPolicy == v1alpha1.EtcdSnapshotRequired {
			fmt.Fprintf(out, "%s is asked\n", n.Name)
		}
	}
	for _, u := range s.Upgrades {
		if taken := u.Status.EtcdSnapshot; taken != nil {
			fmt.Fprintf(out, "%s has that of %s\n", u.Name, taken.Node)
		}
	}
}

func options(args []string) map[string]string {
	option := map[string]string{}
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		option[key] = value
	}
	return option
}

func (s *script) node(name string) *clusterstate.Node {
	i := slices.IndexFunc(s.Nodes, func(n clusterstate.Node) bool { return n.Name == name })
	return &s.Nodes[i]
}

func (s *script) addNode(args []string, option map[string]string) {
	n := clusterstate.Node{Name: args[0], UID: "u-" + args[0], Kubelet: args[1], Ready: true, OS: "linux", Architecture: "amd64", Labels: map[string]string{}}
	for key, value := range option {
		switch key {
		case "control-plane":
			n.ControlPlane = true
			pod := clusterstate.StaticPod{Node: n.Name, Version: n.Kubelet, Ready: true}
			s.APIServers = append(s.APIServers, pod)
			s.Etcd = append(s.Etcd, clusterstate.StaticPod{Node: n.Name, Ready: true})
		case "packages":
			s.nodeUpgrade(n.Name, n.UID).Status.ImageProblem = &v1alpha1.Problem{Reason: v1alpha1.NoSysextImage, Message: "Kubernetes comes from packages"}
		case "arch":
			n.Architecture = value
		case "os":
			n.OS = value
		case "uid":
			n.UID = value
		default:
			n.Labels[key] = value
		}
	}
	s.Nodes = append(s.Nodes, n)
}

// took adds a pass of last week to the node's steps.
func (s *script) took(name, text string) error {
	lasted, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	status := &s.nodeUpgrade(name, s.node(name).UID).Status
	begin := s.now.AddDate(0, 0, -7)
	middle, end := metav1.NewMicroTime(begin.Add(lasted/2)), metav1.NewMicroTime(begin.Add(lasted))
	status.Steps = slices.Insert(status.Steps, 0,
		v1alpha1.StepTime{Step: v1alpha1.StepLocking, StartTime: metav1.NewMicroTime(begin), EndTime: &middle},
		v1alpha1.StepTime{Step: v1alpha1.StepUnlocking, StartTime: middle, EndTime: &end})
	return nil
}

// setFindings sets what preflight finds from its next run on.
func (s *script) setFindings(args []string, option map[string]string) {
	if args[0] == "none" {
		s.findings = nil
		return
	}
	f := v1alpha1.Finding{ID: args[1], Level: v1alpha1.LevelWarn, Node: option["node"]}
	if args[0] == "block" {
		f.Level = v1alpha1.LevelBlock
	}
	words := slices.DeleteFunc(slices.Clone(args[2:]), func(arg string) bool { return strings.HasPrefix(arg, "node=") })
	f.Message, f.Advice, _ = strings.Cut(strings.Join(words, " "), " / ")
	s.findings = append(s.findings, f)
}

func (s *script) printFindings(out *strings.Builder) {
	for _, u := range s.Upgrades {
		for _, f := range u.Status.Findings {
			fmt.Fprintf(out, "%s %s %s: %s", u.Name, f.Level, f.ID, f.Message)
			if f.Ignored {
				out.WriteString(" (ignored)")
			}
			out.WriteString("\n")
		}
	}
	fmt.Fprintf(out, "preflight ran %d times\n", s.preflightRuns)
}

func (s *script) offer(versions []string) {
	s.Source = clusterstate.Source{}
	for _, v := range versions {
		for _, architecture := range []string{"amd64", "arm64"} {
			only, found := strings.CutSuffix(v, "/amd64")
			if found && architecture != "amd64" {
				continue
			}
			s.Source.Offers = append(s.Source.Offers, clusterstate.Offer{Version: only, Image: v1alpha1.Image{
				Architecture: v1alpha1.Architecture(architecture), URL: "http://images/" + only, Digest: v1alpha1.DigestOf(strings.Repeat("a", 64)),
			}})
		}
	}
}

func (s *script) addSchedule(args []string, option map[string]string) error {
	start, err := time.Parse(time.RFC3339, args[1])
	if err != nil {
		return err
	}
	end, err := time.Parse(time.RFC3339, args[2])
	if err != nil {
		return err
	}
	p := v1alpha1.Period{Name: "w", StartTime: metav1.NewTime(start), EndTime: metav1.NewTime(end), Recurrence: valueOf(args, "rule=")}
	m := v1alpha1.MaintenanceSchedule{ObjectMeta: metav1.ObjectMeta{Name: args[0]}}
	m.Spec.TimeZone, m.Spec.NodeSelector = option["zone"], selector(valueOf(args, "nodes="))
	if kind, ok := option["exclude"]; ok {
		x := v1alpha1.MaintenanceExclusion{Period: p}
		if kind != "all" {
			x.UpgradeTypes = []v1alpha1.UpgradeType{v1alpha1.UpgradeType(kind)}
		}
		m.Spec.MaintenanceExclusions = append(m.Spec.MaintenanceExclusions, x)
	} else {
		m.Spec.MaintenanceWindows = append(m.Spec.MaintenanceWindows, v1alpha1.MaintenanceWindow{Period: p})
	}
	s.Schedules = append(slices.DeleteFunc(s.Schedules, func(m v1alpha1.MaintenanceSchedule) bool { return m.Name == args[0] }), m)
	return nil
}

// valueOf returns what follows the prefix in the argument that has it.
func valueOf(args []string, prefix string) string {
	for _, arg := range args {
		if text, ok := strings.CutPrefix(arg, prefix); ok {
			return text
		}
	}
	return ""
}

func (s *script) addUpgrade(args []string, option map[string]string) error {
	u := v1alpha1.ClusterUpgrade{ObjectMeta: metav1.ObjectMeta{Name: args[0], UID: s.uid(args[0]), CreationTimestamp: metav1.NewTime(s.now)}}
	if uid := option["uid"]; uid != "" {
		u.UID = types.UID(uid)
	}
	if !strings.Contains(args[1], "=") {
		u.Spec.Version = args[1]
	}
	u.Spec.RebootPolicy = v1alpha1.RebootPolicy(option["reboots"])
	u.Spec.Type, u.Spec.Comment = v1alpha1.UpgradeType(option["type"]), strings.ReplaceAll(option["reason"], "_", " ")
	if text, ok := option["start"]; ok {
		start, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return err
		}
		u.Spec.StartTime = &metav1.Time{Time: start}
	}
	u.Spec.Strategy.Groups = groups(option["groups"])
	if before := option["retry"]; before != "" {
		u.Spec.RetryOf = &v1alpha1.RetriedUpgrade{Name: before}
	}
	u.Spec.NodeSelector = selector(valueOf(args, "nodes="))
	if err := setStrategy(&u.Spec.Strategy, option); err != nil {
		return err
	}
	setSpec(&u, option)
	if _, ok := option["automatic"]; ok {
		u.Annotations = map[string]string{v1alpha1.CreatedByAnnotation: v1alpha1.CreatedByCoordinator}
	}
	s.Upgrades = append(s.Upgrades, u)
	s.now = s.now.Add(time.Second)
	return nil
}

// groups returns a group for each name, of the nodes with the label pool=NAME.
func groups(names string) (list []v1alpha1.NodeGroup) {
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ',' }) {
		list = append(list, v1alpha1.NodeGroup{Name: name, NodeSelector: v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"pool": v1alpha1.LabelValue(name)}}})
	}
	return list
}

func setSpec(u *v1alpha1.ClusterUpgrade, option map[string]string) {
	if text, ok := option["max"]; ok {
		limit := intstr.Parse(text)
		u.Spec.Strategy.MaxUnavailable = &limit
	}
	if text, ok := option["cordoned"]; ok {
		u.Spec.Strategy.CordonedNodes = v1alpha1.CordonedNodes(text)
	}
	if text, ok := option["suspend"]; ok {
		u.Spec.Suspend = text != "false"
	}
	if text, ok := option["snapshot"]; ok {
		u.Spec.Strategy.EtcdSnapshotPolicy = v1alpha1.EtcdSnapshotPolicy(text)
	}
	if id, ok := option["check"]; ok {
		u.Spec.IgnoreChecks = append(u.Spec.IgnoreChecks, v1alpha1.IgnoredCheck{ID: id})
	}
	if name, ok := option["ignore-gate"]; ok {
		u.Spec.IgnoreGates = append(u.Spec.IgnoreGates, v1alpha1.IgnoredGate{Name: name, Comment: "known"})
	}
	switch name := option["approved"]; name {
	case "":
	case "upgrade":
		u.Spec.Approved.Upgrade = true
	default:
		u.Spec.Approved.Groups = append(u.Spec.Approved.Groups, name)
	}
	if text, ok := option["method"]; ok {
		u.Spec.Strategy.Method = v1alpha1.Method(text)
	}
	if _, ok := option["ignore"]; ok {
		u.Spec.WindowPolicy = v1alpha1.WindowPolicyIgnore
	}
}

func (s *script) setAgentStatus(name string, option map[string]string) error {
	status := &s.nodeUpgrade(name, s.node(name).UID).Status
	for key, value := range option {
		switch key {
		case "step":
			status.Step, status.Upgrade = v1alpha1.Step(value), s.nodeUpgrade(name, s.node(name).UID).Spec.Upgrade
		case "reason":
			_, message := status.Cause()
			setCause(status, v1alpha1.Reason(value), message)
		case "message":
			reason, _ := status.Cause()
			setCause(status, reason, strings.ReplaceAll(value, "_", " "))
		case "active":
			status.Versions.NextBoot = value
		case "mounted":
			s.mount(name, value)
		case "systemd":
			s.oldSystemd(name)
		case "staged":
			status.Versions.Staged = value
		case "pulled":
			status.Versions.Pulled = value
		case "snapshot":
			status.Upgrade = s.nodeUpgrade(name, s.node(name).UID).Spec.Upgrade
			status.EtcdSnapshot = &v1alpha1.EtcdSnapshot{Node: name, Path: value, CreationTime: metav1.NewTime(s.now)}
		case "since":
			at, err := time.Parse(time.RFC3339, value)
			if err != nil {
				return err
			}
			status.StepStartTime = &metav1.Time{Time: at}
		case "retry":
			at, err := time.Parse(time.RFC3339, value)
			if err != nil {
				return err
			}
			status.Retry.Time = &metav1.Time{Time: at}
		}
	}
	return nil
}

// runUntilStable runs the cluster until nothing changes, and prints each change.
func (s *script) runUntilStable(out *strings.Builder) {
	was := map[string]string{}
	for unchanged := 0; unchanged < 8; unchanged++ {
		p := s.step()
		if p.Create != nil {
			fmt.Fprintf(out, "%s creates %s\n", s.now.Format("15:04"), p.Create.Name)
			unchanged = 0
		}
		for _, news := range s.news() {
			fmt.Fprintf(out, "%s %s\n", s.now.Format("15:04"), news)
			unchanged = 0
		}
		for _, n := range s.Nodes {
			status := s.nodeUpgrade(n.Name, n.UID).Status
			if is := string(status.Step); is != was[n.Name] && is != "" {
				fmt.Fprintf(out, "%s %s %s\n", s.now.Format("15:04"), n.Name, is)
				was[n.Name], unchanged = is, 0
			}
		}
	}
	for _, u := range s.Upgrades {
		out.WriteString(summary(plan.UpgradeStatus{Name: u.Name, Status: u.Status}, false))
	}
}
