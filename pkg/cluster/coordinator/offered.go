package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"
)

// maxOffered is how many versions an UpgradePolicy's status may list.
const maxOffered = 32

// newestOffered returns the versions that the source offers and that an upgrade may
// reach by itself, newest first, with the time at which the coordinator first saw each:
// the newest release of each minor, and in a minor that nodes run each one that is
// newer than the oldest of them. The age of an image belongs to its digest: another one
// under the same version begins anew. While the source offers nothing because of a problem,
// what was seen before stays: its age keeps counting.
func newestOffered(known, former []v1alpha1.OfferedVersion, s clusterstate.Snapshot, now time.Time) []v1alpha1.OfferedVersion {
	if len(s.Source.Offers) == 0 && s.Source.Problem.Reason != "" {
		return known
	}
	seen, away := map[string]v1alpha1.OfferedVersion{}, map[string]v1alpha1.OfferedVersion{}
	for _, one := range known {
		seen[one.Version] = one
	}
	for _, one := range former {
		away[one.Version] = one
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
		images := offeredImages(before, s.Source.Images(v.String()), at)
		if was, back := away[v.String()]; back && !found {
			noteReplaced(was.Images, images)
		}
		list = append(list, v1alpha1.OfferedVersion{Version: v.String(), FirstSeenTime: before.FirstSeenTime, Images: images})
	}
	return list
}

// noteReplaced notes which images of a version that is back replace another one.
func noteReplaced(before, images []v1alpha1.OfferedImage) {
	for i := range images {
		images[i].Replaced = slices.ContainsFunc(before, func(was v1alpha1.OfferedImage) bool {
			return was.Architecture == images[i].Architecture && (was.Replaced || was.Digest != images[i].Digest)
		})
	}
}

// formerlyOffered returns those that were on offer before and are not now, the newest first.
func formerlyOffered(before v1alpha1.UpgradePolicyStatus, offered []v1alpha1.OfferedVersion) []v1alpha1.OfferedVersion {
	isIn := func(list []v1alpha1.OfferedVersion, version string) bool {
		return slices.ContainsFunc(list, func(one v1alpha1.OfferedVersion) bool { return one.Version == version })
	}
	var list []v1alpha1.OfferedVersion
	for _, one := range slices.Concat(before.Offered, before.FormerlyOffered) {
		if !isIn(offered, one.Version) && !isIn(list, one.Version) {
			list = append(list, one)
		}
	}
	number := func(one v1alpha1.OfferedVersion) version.Version {
		v, _ := version.Parse(one.Version) // it was parsed when it was listed
		return v
	}
	slices.SortFunc(list, func(a, b v1alpha1.OfferedVersion) int { return number(b).Compare(number(a)) })
	return list[:min(len(list), maxOffered)]
}

// newestSignature returns the newest signature of the index of the policy's source.
func newestSignature(known *v1alpha1.IndexSignature, from v1alpha1.ImageSource, signed time.Time) *v1alpha1.IndexSignature {
	identity := source.Identity(from)
	if known != nil && (from.Keyring == "" || known.Source != identity) {
		known = nil
	}
	if signed.IsZero() || known != nil && !signed.After(known.Time.Time) {
		return known
	}
	return &v1alpha1.IndexSignature{Time: metav1.NewTime(signed.UTC()), Source: identity}
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
	slices.SortFunc(images, func(a, b v1alpha1.OfferedImage) int { return cmp.Compare(a.Architecture, b.Architecture) })
	return images
}

// replaced returns the images that replaced another one since the policy's status was written.
func replaced(was, now []v1alpha1.OfferedVersion) (messages []string) {
	before := map[string]v1alpha1.OfferedImage{}
	for _, one := range was {
		for _, image := range one.Images {
			before[one.Version+" for "+string(image.Architecture)] = image
		}
	}
	for _, one := range now {
		for _, image := range one.Images {
			name := one.Version + " for " + string(image.Architecture)
			if known, found := before[name]; found && known.Digest != image.Digest {
				messages = append(messages, fmt.Sprintf("the source has another image of %s: %s in place of %s", name, image.Digest, known.Digest))
			}
		}
	}
	return messages
}

// releases returns the versions on offer, newest first, without pre-releases, which
// no upgrade reaches by itself.
func releases(source clusterstate.Source) []version.Version {
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
func oldestKubelets(nodes []clusterstate.Node) map[string]version.Version {
	oldest := map[string]version.Version{}
	for _, n := range nodes {
		v, err := version.Parse(n.Kubelet)
		if known, found := oldest[v.Line()]; err == nil && (!found || v.Less(known)) {
			oldest[v.Line()] = v
		}
	}
	return oldest
}
