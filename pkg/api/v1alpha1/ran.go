package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RanVersion is a version that upgrades of every node have brought to the cluster, or are bringing to
// it. Another cluster may follow this one: it takes a version once this one has run it for a while.
type RanVersion struct {
	// Version, such as v1.34.5.
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version"`
	// Upgrade is the last ClusterUpgrade to it.
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
	// Architecture as Kubernetes names it: amd64 or arm64.
	// +kubebuilder:validation:Enum=amd64;arm64
	Architecture string `json:"architecture"`
	// Digest of the image file: sha256: and 64 lower-case hex digits.
	// +kubebuilder:validation:MaxLength=71
	Digest string `json:"digest"`
}

// DigestsOf returns the digests of images.
func DigestsOf(images []Image) (digests []ImageDigest) {
	for _, image := range images {
		digests = append(digests, ImageDigest{Architecture: image.Architecture, Digest: image.Digest})
	}
	return digests
}
