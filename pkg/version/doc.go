// Package version implements Kubernetes' versions: their order, and the skew rules of
// https://kubernetes.io/releases/version-skew-policy/.
//
// It promises that a version names an exact patch (v1.34.4, v1.35.0-rc.1,
// v1.34.4+k3s1), that versions are ordered as in https://semver.org, and that a forbidden
// step returns a Refusal with its rule. It is pure.
//
// The semver library parses, prints and orders pre-releases. Its own type cannot be the key
// of a map or compared with ==, because it is a pointer with the original text.
package version
