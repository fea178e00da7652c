package v1alpha1

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RanVersion is a version that upgrades of every node have brought to the cluster, or are bringing to
// it. Another cluster may follow this one: it takes a version once this one has run it for a while.
type RanVersion struct {
	// Version, such as v1.34.5.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Version string `json:"version"`
	// Upgrade is the last ClusterUpgrade to it.
	// +required
	Upgrade UpgradeReference `json:"upgrade"`
	// Digests of its images, as that upgrade fixed them.
	// +listType=map
	// +listMapKey=architecture
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Digests []ImageDigest `json:"digests,omitempty"`
	// SinceTime is when every managed node ran it. Absent: not yet.
	// +optional
	SinceTime *metav1.Time `json:"sinceTime,omitempty"`
	// UntilTime is when the first node began to leave it for another version. Absent: none has.
	// +optional
	UntilTime *metav1.Time `json:"untilTime,omitempty"`
	// Behind is how many managed nodes do not run it now, while it is the newest: those that joined
	// late, or went back.
	// +optional
	Behind int32 `json:"behind,omitempty"`
	// Problem is that a node failed, or was rolled back, or stopped being Ready after it. It stays
	// until another upgrade brings the version.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Problem string `json:"problem,omitempty"`
	// Blocked is why it is blocked, by spec.blockedVersions or as it was taken back.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Blocked string `json:"blocked,omitempty"`
}

// ImageDigest is the digest of an image for one architecture.
type ImageDigest struct {
	// Architecture of the nodes that the image is for.
	// +required
	Architecture Architecture `json:"architecture"`
	// Digest of the image file.
	// +required
	Digest Digest `json:"digest"`
}

// The API's limits on what a cluster has run.
const (
	maxRan        = 8
	maxRanVersion = 64
	maxRanDigests = 8
	maxRanProblem = 512
	maxRanBlocked = 256
	maxName       = 253
	maxUID        = 64
)

// FittingRan returns what another cluster has run, cut to what the API takes: one value beyond it, and the whole
// status that has it would be refused. A version, or a digest, that does not fit is left out, so that it holds.
func FittingRan(list []RanVersion) (fitting []RanVersion) {
	for _, one := range list {
		again := func(r RanVersion) bool { return r.Version == one.Version }
		if len(fitting) == maxRan || len(one.Version) > maxRanVersion || slices.ContainsFunc(fitting, again) {
			continue
		}
		one.Upgrade.Name, one.Upgrade.UID = cut(one.Upgrade.Name, maxName), cut(one.Upgrade.UID, maxUID)
		one.Problem, one.Blocked, one.Digests = cut(one.Problem, maxRanProblem), cut(one.Blocked, maxRanBlocked), fittingDigests(one.Digests)
		fitting = append(fitting, one)
	}
	return fitting
}

func fittingDigests(list []ImageDigest) (fitting []ImageDigest) {
	for _, one := range list {
		again := func(d ImageDigest) bool { return d.Architecture == one.Architecture }
		if one.Architecture.Known() && one.Digest.Valid() && len(fitting) < maxRanDigests && !slices.ContainsFunc(fitting, again) {
			fitting = append(fitting, one)
		}
	}
	return fitting
}

// cut returns the text, or as much of it as the API takes.
func cut(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}

// DigestsOf returns the digests of images.
func DigestsOf(images []Image) (digests []ImageDigest) {
	for _, image := range images {
		digests = append(digests, ImageDigest{Architecture: image.Architecture, Digest: image.Digest})
	}
	return digests
}
