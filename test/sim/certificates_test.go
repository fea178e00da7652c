package sim

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// The certificates of control planes, and what renews them. A renewal that is cut off leaves the copy of the former
// files, and may leave files that do not fit each other, with which no static pod starts.

// year is how long certificates live where a script says nothing.
const year = 365 * 24 * time.Hour

// certificatesOf are what a script says about certificates.
type certificatesOf struct {
	Life   time.Duration   // zero: a year
	Lived  []time.Duration // how long those of each control plane have lived at the start
	Renews time.Duration   // the UpgradePolicy has them renewed so long before their end; zero: it does not
}

// anyCertificates gives control planes certificates that live for minutes, in one seed of three, mostly with automatic
// renewal. People ask for renewals, too, and freeze versions or certificates alone.
func anyCertificates(s *script) {
	r := rand.New(rand.NewPCG(s.Seed, 30))
	if r.IntN(3) > 0 {
		return
	}
	minutes := func(list ...int) time.Duration { return time.Duration(list[r.IntN(len(list))]) * time.Minute }
	s.Certificates.Life = minutes(12, 20, 30, 60)
	if s.Workers <= 3 && r.IntN(2) == 0 {
		s.ControlPlanes = 3
	}
	for range s.ControlPlanes {
		s.Certificates.Lived = append(s.Certificates.Lived, time.Duration(r.Float64()*0.8*float64(s.Certificates.Life)).Truncate(time.Second))
	}
	if r.IntN(4) > 0 {
		s.Certificates.Renews = minutes(1, 3, 60)
	}
	if r.IntN(2) == 0 {
		s.Lasts = max(s.Lasts, min(s.Certificates.Life, 30*time.Minute))
	}
	controlPlane := func() string { return s.nodes()[r.IntN(s.ControlPlanes)] }
	for range r.IntN(5) {
		kinds := []string{"request renewal", "request renewal", "freeze versions", "freeze certificates", "delete renewals", "verb fails", "verb fails"}
		f := fault{
			At: early(r.Float64(), s.Lasts), Kind: kinds[r.IntN(len(kinds))], Who: controlPlane(), After: r.IntN(3) == 0,
			Number: 1 + r.IntN(3), For: time.Duration(30+r.IntN(600)) * time.Second,
		}
		if f.Kind == "verb fails" {
			f.Other = []string{string(verb.Renew), string(verb.Renew), string(verb.PutBack)}[r.IntN(3)]
		}
		s.Faults = append(s.Faults, f)
	}
	for range r.IntN(5) {
		s.Faults = append(s.Faults, fault{
			At: early(r.Float64()*r.Float64(), s.Lasts), Kind: "meet renewal", Other: inRenewals[r.IntN(len(inRenewals))], Number: r.IntN(12),
			After: r.IntN(2) == 0, For: time.Duration(5+r.IntN(180)) * time.Second,
		})
	}
}

// inRenewals are what happens while certificates are being renewed.
var inRenewals = []string{
	"power cut", "power cut", "power cut", "crash agent", "crash agent", "delete nodeupgrade", "renewal hangs", "renewal killed", "abandon", "partition",
	"manual reboot", "suspend", "freeze", "delete renewals", "leave pool", "api down", "kubelet dies", "hold", "stall", "forge mark",
}

// controlPlaneCertificates is the state of a control plane's certificates.
type controlPlaneCertificates struct {
	issued  time.Time // by kubeadm
	renewed *v1alpha1.CertificatesRenewed
	// left reports whether there is a copy of former files, half whether files do not fit each other.
	left, half bool
	leftSince  time.Time
	unguarded  bool          // no guard puts them back at the next boot
	hangs      time.Duration // how much longer the next renewal takes
	hangsUntil time.Time     // the renewal that began last
}

// life returns how long certificates live.
func (w *world) life() time.Duration {
	if life := w.script.Certificates.Life; life > 0 {
		return life
	}
	return year
}

// firstIssued returns when the certificates of a control plane were issued that the story begins with.
func (w *world) firstIssued(name string) time.Time {
	if i := slices.Index(w.script.nodes(), name); i < len(w.script.Certificates.Lived) {
		return w.started.Add(-w.script.Certificates.Lived[i])
	}
	return w.started.Add(-year / 2)
}

// certificatesEnd returns when the node's certificates end.
func (n *node) certificatesEnd() time.Time { return n.certificates.issued.Add(n.w.life()) }

// addCertificates adds what the facts say of certificates.
func (n *node) addCertificates(f *verb.HostFacts) {
	f.CertificatesRenewed, f.RenewalLeft = n.certificates.renewed, n.certificates.left
	if !n.controlPlane {
		return
	}
	at := func(t time.Time) *metav1.Time { return &metav1.Time{Time: t.UTC().Truncate(time.Second)} }
	const authority = "/etc/kubernetes/pki/ca.crt"
	one := func(path, program string) v1alpha1.CertificateFacts {
		return v1alpha1.CertificateFacts{
			Path: path, NotBefore: at(n.certificates.issued), NotAfter: *at(n.certificatesEnd()), AuthorityPath: authority, RenewedBy: v1alpha1.RenewedByKubeadm,
			UsedBy: []string{program}, WrittenTime: at(n.certificates.issued), InUse: v1alpha1.UsesCurrent,
		}
	}
	f.Node.Certificates = []v1alpha1.CertificateFacts{
		one("/etc/kubernetes/pki/apiserver.crt", "kube-apiserver"), one("/etc/kubernetes/scheduler.conf", "kube-scheduler"),
		{Path: authority, CA: true, NotBefore: at(n.w.started.Add(-year)), NotAfter: *at(n.w.started.Add(9 * year)), RenewedBy: v1alpha1.RenewedByNone},
	}
}

// beginRenewal notes that certificates are being renewed, and lets happen what was to meet that. It returns how much
// longer it takes.
func (n *node) beginRenewal() time.Duration {
	n.certificates.left = true
	hangs := n.certificates.hangs
	n.w.meeting = slices.DeleteFunc(n.w.meeting, func(f fault) bool {
		met := fault{Kind: f.Other, Who: n.name, For: f.For, After: f.After}
		if met.Kind == "renewal hangs" {
			hangs += f.For * 8
			return true
		}
		if slices.Contains(ofPrograms, met.Kind) {
			met.Who = "agent " + n.name
		}
		n.w.after(time.Duration(f.Number)*1500*time.Millisecond, met.Kind, func() { n.w.inject(met) })
		return true
	})
	n.certificates.hangs, n.certificates.hangsUntil = 0, n.w.now().Add(hangs)
	return hangs
}

// endRenewal has the effect of a renewal that was not cut off.
func (n *node) endRenewal(r verb.Request, ok bool) (output []byte) {
	n.certificates.left = false
	if !ok {
		return nil
	}
	var args verb.RenewArgs
	_ = json.Unmarshal(r.Args, &args)
	n.certificates.issued = n.w.now()
	n.certificates.renewed = &v1alpha1.CertificatesRenewed{
		Upgrade: args.Upgrade, Time: metav1.NewTime(n.w.now().UTC().Truncate(time.Second)), Names: []string{"apiserver", "scheduler.conf"}, Restarted: []string{"kube-scheduler"},
	}
	output, _ = json.Marshal(n.certificates.renewed)
	return output
}

// cutRenewal is what a renewal leaves that power failed under. A guard that starts at the boot would put the former files
// back before any program needs them. Some nodes have lost it, where etcd keeps its majority without them: else no API
// server would answer to their agents.
func (n *node) cutRenewal(until time.Time) {
	which := until.UnixMilli()
	n.certificates.half, n.certificates.unguarded, n.certificates.leftSince = which%3 > 0, which%4 > 0 && len(n.w.controlPlanes()) > 2, n.w.now()
}

// killRenewal kills the unit that renews certificates, which puts the former files back as it ends.
func (n *node) killRenewal() {
	if _, runs := n.units[verb.Renew]; runs {
		delete(n.units, verb.Renew)
		n.certificates.left = false
		n.w.wakeAgent(n)
	}
}

// putBackAtBoot is the guard's: it puts back what a power cut has left.
func (n *node) putBackAtBoot() {
	if n.certificates.left && !n.certificates.unguarded {
		n.w.note("the guard of %s puts its former certificates back", n.name)
		n.certificates.left, n.certificates.half = false, false
	}
}

// putBack is the verb "put-back": the static pods start with the former files.
func (n *node) putBack() {
	n.certificates.left, n.certificates.half = false, false
	if n.on && n.kubelet != "" && n.broken[n.kubelet] != imageNoPods && !n.podsUp {
		n.podsUp = true
		n.w.pods(n)
	}
}

// injectRenewal asks for renewals, lets something meet one, or freezes some types of upgrades.
func (w *world) injectRenewal(f fault) {
	until := w.now().Sub(w.started) + f.For
	freeze := func(types ...any) {
		period := w.period(f.Kind, w.now().Sub(w.started), until)
		period["upgradeTypes"] = types
		w.createSchedule(strings.ReplaceAll(f.Kind, " ", "-"), tree{"maintenanceExclusions": []any{period}})
	}
	switch f.Kind {
	case "request renewal":
		spec := w.renewalSpec()
		if n := w.node(f.Who); n != nil && f.After {
			spec["nodeSelector"] = tree{"matchLabels": tree{"kubernetes.io/hostname": n.name}}
		}
		w.request("renew-"+f.Who, spec)
	case "delete renewals":
		for _, u := range w.upgrades() {
			if u.Spec.Type == v1alpha1.TypeCertificates {
				w.api.remove("admin", key{Resource: "clusterupgrades", Name: u.Name})
			}
		}
	case "freeze versions":
		freeze("Patch", "Minor", "Reboot", "Rollback")
	case "freeze certificates":
		freeze("Certificates")
	case "meet renewal":
		w.meeting = append(w.meeting, f)
	}
}

// renewalSpec returns the spec of an upgrade that renews certificates.
func (w *world) renewalSpec() tree {
	spec := w.upgradeSpec("")
	spec["type"] = string(v1alpha1.TypeCertificates)
	return spec
}
