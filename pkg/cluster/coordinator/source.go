package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/metrics"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// offers keeps what the source of images offers up to date.
type offers struct {
	wanted atomic.Pointer[v1alpha1.ImageSource] // where to read, as the policy says; nil: not known yet
	last   atomic.Pointer[reading]              // nil before the first one
	wake   chan struct{}                        // signals that the index must be read now
	onNews func()
	log    *slog.Logger
	counts *metrics.Metrics

	// Only one goroutine at a time reads.
	poller *source.Poller
	polled v1alpha1.ImageSource
}

// reading is the content of an index, and the source that it was read from.
type reading struct {
	source v1alpha1.ImageSource
	said   fleet.Source
}

// forever is the pause while the source is not known.
const forever = time.Duration(math.MaxInt64)

func newOffers(log *slog.Logger, counts *metrics.Metrics, onNews func()) *offers {
	return &offers{wake: make(chan struct{}, 1), onNews: onNews, log: log, counts: counts}
}

// start sets the source and reads its index.
func (o *offers) start(ctx context.Context, wanted v1alpha1.ImageSource) {
	o.wanted.Store(&wanted)
	o.read(ctx, wanted)
}

// follow returns what the source offers. If the policy's source changed, it has the new
// index read.
func (o *offers) follow(wanted v1alpha1.ImageSource) fleet.Source {
	if before := o.wanted.Swap(&wanted); before == nil || *before != wanted {
		o.readSoon()
	}
	last := o.last.Load()
	same := wanted
	if last != nil {
		same.IntervalSeconds = last.source.IntervalSeconds // what the source offers does not depend on it
	}
	if last == nil || last.source != same {
		return fleet.Source{Problem: fleet.Hold{
			Reason:  v1alpha1.ReasonSourceUnavailable,
			Message: fmt.Sprintf("the index of %s has not been read yet", wanted.URL),
		}}
	}
	return last.said
}

// readSoon has the index read again now.
func (o *offers) readSoon() {
	select {
	case o.wake <- struct{}{}:
	default: // already signalled
	}
}

// poll reads the index repeatedly until ctx ends.
func (o *offers) poll(ctx context.Context) {
	for {
		pause := forever
		if wanted := o.wanted.Load(); wanted != nil {
			pause = time.Duration(wanted.IntervalSeconds) * time.Second
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		case <-o.wake:
		}
		o.read(ctx, *o.wanted.Load())
	}
}

// read reads the index, and reports changes.
func (o *offers) read(ctx context.Context, from v1alpha1.ImageSource) {
	if o.poller == nil || o.polled != from {
		o.poller, o.polled = source.NewPoller(from), from
	}
	found := reading{source: from, said: o.poller.Read(ctx)}
	if ctx.Err() != nil {
		return
	}
	o.counts.SourceRead(found.said.Problem.Reason)
	if before := o.last.Swap(&found); before == nil || !reflect.DeepEqual(*before, found) {
		o.report(found)
		o.onNews()
	}
}

func (o *offers) report(r reading) {
	versions := map[string]bool{}
	for _, offer := range r.said.Offers {
		versions[offer.Version] = true
	}
	if problem := r.said.Problem; problem.Reason != "" {
		o.log.Warn("the source has a problem", "url", r.source.URL, "reason", problem.Reason, "message", problem.Message, "versions", len(versions))
		return
	}
	o.log.Info("the source was read", "url", r.source.URL, "versions", len(versions), "images", len(r.said.Offers))
}

// maxOffered is how many versions an UpgradePolicy's status may list.
const maxOffered = 32

// newestOffered returns the versions that the source offers and that an upgrade may
// reach by itself, newest first, with the time at which the coordinator first saw each:
// the newest release of each minor, and in a minor that nodes run each one that is
// newer than the oldest of them. The age of an image belongs to its digest: another one
// under the same version begins anew. While the source offers nothing because of a problem,
// what was seen before stays: its age keeps counting.
func newestOffered(known []v1alpha1.OfferedVersion, s fleet.Snapshot, now time.Time) []v1alpha1.OfferedVersion {
	if len(s.Source.Offers) == 0 && s.Source.Problem.Reason != "" {
		return known
	}
	seen := map[string]v1alpha1.OfferedVersion{}
	for _, one := range known {
		seen[one.Version] = one
	}
	at := metav1.NewTime(now.UTC().Truncate(time.Second))
	var list []v1alpha1.OfferedVersion
	newest, runs := map[string]bool{}, oldestKubelets(s.Nodes)
	for _, v := range releases(s.Source) {
		oldest, run := runs[v.Line()]
		newer := run && oldest.Less(v)
		if newest[v.Line()] && !newer || len(list) == maxOffered {
			continue
		}
		newest[v.Line()] = true
		before, found := seen[v.String()]
		if !found {
			before.FirstSeenTime = at
		}
		list = append(list, v1alpha1.OfferedVersion{
			Version: v.String(), FirstSeenTime: before.FirstSeenTime, Images: offeredImages(before, s.Source.Images(v.String()), at),
		})
	}
	return list
}

// offeredImages returns the images that the source offers for a version that was seen before,
// or is new at that time. An image that is not on offer at the moment is kept while another one
// is, so that its replacement is recognized.
func offeredImages(before v1alpha1.OfferedVersion, now []v1alpha1.Image, at metav1.Time) []v1alpha1.OfferedImage {
	images := slices.Clone(before.Images)
	for _, image := range now {
		i := slices.IndexFunc(images, func(known v1alpha1.OfferedImage) bool { return known.Architecture == image.Architecture })
		switch {
		case i >= 0 && images[i].Digest == image.Digest:
		case i >= 0:
			images[i] = v1alpha1.OfferedImage{Architecture: image.Architecture, Digest: image.Digest, FirstSeenTime: at, Replaced: true}
		case before.Images == nil: // the version is new, or an older coordinator saw it
			images = append(images, v1alpha1.OfferedImage{Architecture: image.Architecture, Digest: image.Digest, FirstSeenTime: before.FirstSeenTime})
		default:
			images = append(images, v1alpha1.OfferedImage{Architecture: image.Architecture, Digest: image.Digest, FirstSeenTime: at})
		}
	}
	slices.SortFunc(images, func(a, b v1alpha1.OfferedImage) int { return strings.Compare(a.Architecture, b.Architecture) })
	return images
}

// replaced returns the images that replaced another one since the policy's status was written.
func replaced(was, now []v1alpha1.OfferedVersion) (messages []string) {
	before := map[string]v1alpha1.OfferedImage{}
	for _, one := range was {
		for _, image := range one.Images {
			before[one.Version+" for "+image.Architecture] = image
		}
	}
	for _, one := range now {
		for _, image := range one.Images {
			name := one.Version + " for " + image.Architecture
			if known, found := before[name]; found && known.Digest != image.Digest {
				messages = append(messages, fmt.Sprintf("the source has another image of %s: %s in place of %s", name, image.Digest, known.Digest))
			}
		}
	}
	return messages
}

// releases returns the versions on offer, newest first, without pre-releases, which
// no upgrade reaches by itself.
func releases(source fleet.Source) []version.Version {
	var list []version.Version
	for _, offer := range source.Offers {
		if v, err := version.Parse(offer.Version); err == nil && v.Pre == "" {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, func(a, b version.Version) int { return b.Compare(a) })
	return slices.Compact(list)
}

// oldestKubelets returns the oldest kubelet of each minor.
func oldestKubelets(nodes []fleet.Node) map[string]version.Version {
	oldest := map[string]version.Version{}
	for _, n := range nodes {
		v, err := version.Parse(n.Kubelet)
		if known, found := oldest[v.Line()]; err == nil && (!found || v.Less(known)) {
			oldest[v.Line()] = v
		}
	}
	return oldest
}
