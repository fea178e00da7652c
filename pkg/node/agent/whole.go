package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/machine"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/whole"
)

const (
	// partsWithin is how long what a node has is tried to be read before it goes out of service. What cannot be read by
	// then is not waited for.
	partsWithin = time.Minute
	// A node that is not whole is looked at again after a fifth of the time that it has been so, within these bounds: most
	// come back soon.
	wholeAge, wholeAgeAtMost = 2 * time.Second, 15 * time.Second
)

// wholeSense knows what the node has, and what it lacks of what it had.
type wholeSense struct {
	*Config
	asks    bool           // machine needs an answer
	at      time.Time      // of the last look; zero: there was none
	since   time.Time      // of the first look that found something missing
	missing *machine.Whole // what it found; nil: it failed
}

// addParts adds what the node has, while it is to be written down, and what keeps pods from it since.
func (w *wholeSense) addParts(ctx context.Context, r *round) {
	if r.node == nil {
		return
	}
	if r.state.Parts != nil {
		r.KeptOut = whole.KeptOut(r.state.Parts, r.node, r.Spec.Whole.Or(v1alpha1.DefaultStrategy().Whole))
	}
	if !machine.NeedsParts(r.state) || r.Host == nil {
		return
	}
	seen, err := w.look(ctx, r, true, true)
	if err != nil {
		w.Log.WarnContext(ctx, "reading what the node has", "node", w.Node, "error", err)
	}
	if err == nil || r.Now.Sub(r.state.Since) >= partsWithin {
		r.Parts = whole.Parts(seen)
	}
}

// add adds what the node lacks, if machine needs it.
func (w *wholeSense) add(ctx context.Context, r *round) {
	if r.state.Step != v1alpha1.StepSettling && r.state.Step != v1alpha1.StepFailed {
		w.at, w.since = time.Time{}, time.Time{}
	}
	w.asks = r.node != nil && r.Host != nil && machine.NeedsWhole(r.state, r.Observation)
	if !w.asks {
		return
	}
	if age := r.Now.Sub(w.at); age < 0 || age >= w.age(r.Now) {
		w.compare(ctx, r)
	}
	r.Whole = w.missing
}

// age is how long the answer of a look counts.
func (w *wholeSense) age(now time.Time) time.Duration {
	return min(max(wholeAge, now.Sub(w.since)/5), wholeAgeAtMost)
}

func (w *wholeSense) compare(ctx context.Context, r *round) {
	w.at, w.missing = r.Now, nil
	if w.since.IsZero() {
		w.since = r.Now
	}
	before, of := r.state.Parts, r.Spec.Whole.Or(v1alpha1.DefaultStrategy().Whole)
	waits := func(handling v1alpha1.PartHandling, had []string) bool {
		return handling == v1alpha1.PartWait && len(had) > 0
	}
	seen, err := w.look(ctx, r, waits(of.Drivers, before.Drivers), waits(of.DaemonSets, before.DaemonSets))
	if err != nil {
		w.Log.WarnContext(ctx, "reading what the node has", "node", w.Node, "error", err)
		return
	}
	missing := w.withoutRemoved(ctx, seen, whole.Compare(before, seen, of))
	w.missing = &machine.Whole{Missing: missing.Texts()}
}

// look looks at the node, as its kubelet, which may read its own CSINode and pods. What is read before an error counts.
func (w *wholeSense) look(ctx context.Context, r *round, drivers, pods bool) (whole.Seen, error) {
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	seen := whole.Seen{Node: r.node, Plugins: r.Host.Plugins, Merged: r.Host.Extensions, Unmerged: r.Host.Unmerged}
	var driversUnread, podsUnread error
	if drivers {
		var found *storagev1.CSINode
		found, driversUnread = w.Kubelet.CSINodes().Get(ctx, w.Node, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(driversUnread):
			driversUnread = nil
		case driversUnread != nil:
			driversUnread = fmt.Errorf("reading the CSINode of node %s: %w", w.Node, driversUnread)
		default:
			seen.CSINode = found
		}
	}
	if pods {
		var list *corev1.PodList
		list, podsUnread = w.Kubelet.Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("spec.nodeName", w.Node).String(),
		})
		if podsUnread != nil {
			podsUnread = fmt.Errorf("listing the pods of node %s: %w", w.Node, podsUnread)
		} else {
			seen.Pods = list.Items
		}
	}
	return seen, errors.Join(driversUnread, podsUnread)
}

// withoutRemoved returns what is missing without what was removed from the cluster meanwhile. What cannot be read may be
// there.
func (w *wholeSense) withoutRemoved(ctx context.Context, seen whole.Seen, m whole.Missing) whole.Missing {
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	for _, name := range m.Drivers {
		if _, err := w.Kubelet.CSIDrivers().Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			m = m.WithoutDriver(name)
		}
	}
	for _, set := range m.DaemonSets {
		namespace, name, _ := strings.Cut(set, "/")
		found, err := w.Account.DaemonSets(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && !seen.Wants(found) {
			m = m.WithoutDaemonSet(set)
		}
	}
	return m
}
