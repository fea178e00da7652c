package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// OfferedVersion is a version that the source offers.
type OfferedVersion struct {
	// Version, such as v1.34.4.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Version string `json:"version"`
	// FirstSeenTime is when the coordinator first saw that it is available.
	// +required
	FirstSeenTime metav1.Time `json:"firstSeenTime"`

	// Images are those that the source offers for it. minAgeSeconds counts for each of them.
	// +listType=map
	// +listMapKey=architecture
	// +kubebuilder:validation:MaxItems=8
	// +optional
	Images []OfferedImage `json:"images,omitempty"`
}

// OfferedImage is an image that the source offers.
type OfferedImage struct {
	// Architecture of the nodes that it is for.
	// +required
	Architecture Architecture `json:"architecture"`
	// Digest of the image in the index.
	// +required
	Digest Digest `json:"digest"`
	// FirstSeenTime is when the coordinator first saw the image with this digest.
	// +required
	FirstSeenTime metav1.Time `json:"firstSeenTime"`
	// Replaced reports whether the source had another image before, under the same version.
	// +optional
	Replaced bool `json:"replaced,omitempty"`
}

// IndexSignature is a signature of the index of images.
type IndexSignature struct {
	// Time at which it was made.
	// +required
	Time metav1.Time `json:"time"`
	// Source is a hash of the source's url and keyring.
	// +kubebuilder:validation:MaxLength=64
	// +required
	Source string `json:"source"`
}
