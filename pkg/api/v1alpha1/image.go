package v1alpha1

import (
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Image is a sysext image, fixed by its digest.
type Image struct {
	// Architecture of the nodes that it is for.
	// +required
	Architecture Architecture `json:"architecture"`
	// URL of the image file.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/]+/')",message="must be an http or https address"
	// +required
	URL string `json:"url"`
	// Digest of the image file.
	// +required
	Digest Digest `json:"digest"`
}

// Architecture of a node's processor, as Kubernetes names it.
// +kubebuilder:validation:Enum=amd64;arm64
type Architecture string

// Known reports whether there are images for the architecture.
func (a Architecture) Known() bool { return a == "amd64" || a == "arm64" }

// Digest of a file: sha256: and the 64 lower-case hex digits of its SHA-256.
// +kubebuilder:validation:MaxLength=71
// +kubebuilder:validation:XValidation:rule="self.matches('^sha256:[0-9a-f]{64}$')",message="must be sha256: and the 64 lower-case hex digits of a SHA-256"
type Digest string

// digestPrefix begins every digest.
const digestPrefix = "sha256:"

// DigestOf returns the digest of a file whose SHA-256, in hex, is sum.
func DigestOf(sum string) Digest { return Digest(digestPrefix + sum) }

// SHA256 returns the SHA-256 in hex.
func (d Digest) SHA256() string { return strings.TrimPrefix(string(d), digestPrefix) }

var digestFormat = regexp.MustCompile("^" + digestPrefix + "[0-9a-f]{64}$")

// Valid reports whether the digest has the form that the API takes.
func (d Digest) Valid() bool { return digestFormat.MatchString(string(d)) }

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
	// Digest of the file.
	// +required
	Digest Digest `json:"digest"`
	// CreationTime is when it was taken.
	// +required
	CreationTime metav1.Time `json:"creationTime"`
}
