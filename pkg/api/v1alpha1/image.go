package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Image is a sysext image, fixed by its digest.
type Image struct {
	// Architecture as Kubernetes names it: amd64 or arm64.
	// +kubebuilder:validation:Enum=amd64;arm64
	// +required
	Architecture string `json:"architecture"`
	// URL of the image file.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/]+/')",message="must be an http or https address"
	// +required
	URL string `json:"url"`
	// Digest of the image file: sha256: and 64 lower-case hex digits.
	// +kubebuilder:validation:MaxLength=71
	// +kubebuilder:validation:XValidation:rule="self.matches('^sha256:[0-9a-f]{64}$')",message="must be sha256: and the 64 lower-case hex digits of a SHA-256"
	// +required
	Digest string `json:"digest"`
}

// digestPrefix begins every digest.
const digestPrefix = "sha256:"

// DigestOf returns the digest of a file whose SHA-256, in hex, is sum.
func DigestOf(sum string) string { return digestPrefix + sum }

// SHA256 returns the image's SHA-256 in hex.
func (i Image) SHA256() string { return strings.TrimPrefix(i.Digest, digestPrefix) }

// EtcdSnapshot is a verified snapshot of etcd's database on a node's disk.
type EtcdSnapshot struct {
	// Node on which it is stored.
	// +kubebuilder:validation:MaxLength=253
	// +required
	Node string `json:"node"`
	// Path on that node.
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Path string `json:"path"`
	// Digest of the file: sha256: and 64 lower-case hex digits.
	// +kubebuilder:validation:MaxLength=71
	// +required
	Digest string `json:"digest"`
	// CreationTime is when it was taken.
	// +required
	CreationTime metav1.Time `json:"creationTime"`
}
