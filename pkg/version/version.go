// Package version knows Kubernetes' versions: their order, and the skew rules
// of https://kubernetes.io/releases/version-skew-policy/.
//
// It promises that what is not exactly a release (v1.34.4) is not understood,
// and that each rule that forbids something says so with a Refusal of its own
// kind. It is pure.
package version

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
)

// Version is a release of Kubernetes.
type Version struct {
	Major, Minor, Patch int
}

var release = regexp.MustCompile(`^v?(\d{1,4})\.(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})$`)

// Parse reads v1.34.4 or 1.34.4. Pre-releases and vendors' suffixes are
// errors: nothing is known of their order.
func Parse(s string) (Version, error) {
	m := release.FindStringSubmatch(s)
	if m == nil {
		return Version{}, fmt.Errorf("parsing version %q: want a release such as v1.34.4", s)
	}
	var v Version
	for i, field := range []*int{&v.Major, &v.Minor, &v.Patch} {
		*field, _ = strconv.Atoi(m[i+1]) // at most four digits: the pattern says so
	}
	return v, nil
}

// String is the version as Kubernetes writes it: v1.34.4.
func (v Version) String() string {
	return fmt.Sprintf("v%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// Line is the minor that the version belongs to: v1.34.
func (v Version) Line() string {
	return fmt.Sprintf("v%d.%d", v.Major, v.Minor)
}

// Compare is negative where v is older than other, positive where it is newer.
func (v Version) Compare(other Version) int {
	return cmp.Or(
		cmp.Compare(v.Major, other.Major),
		cmp.Compare(v.Minor, other.Minor),
		cmp.Compare(v.Patch, other.Patch),
	)
}

// Less is v older than other.
func (v Version) Less(other Version) bool { return v.Compare(other) < 0 }

// SameLine is whether both belong to one minor.
func (v Version) SameLine(other Version) bool {
	return v.Major == other.Major && v.Minor == other.Minor
}

// IsPatchOf is whether v is a newer patch of other's minor.
func (v Version) IsPatchOf(other Version) bool {
	return v.SameLine(other) && v.Patch > other.Patch
}
