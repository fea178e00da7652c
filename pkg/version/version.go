package version

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Version is a version of Kubernetes. Equal values are the same version string.
type Version struct {
	Major, Minor, Patch int
	Pre                 string // rc.1 of v1.35.0-rc.1; empty: it is a release
	Build               string // k3s1 of v1.34.4+k3s1
}

const (
	longest = 64   // bytes of a version
	largest = 9999 // of the three numbers
)

// Parse reads v1.34.4 or 1.34.4, with or without a pre-release and a build. It
// returns a *Refusal by RuleNotVersion for anything else.
func Parse(s string) (Version, error) {
	v, err := semver.StrictNewVersion(strings.TrimPrefix(s, "v"))
	if err != nil || len(s) > longest || max(v.Major(), v.Minor(), v.Patch()) > largest {
		return Version{}, refuse(RuleNotVersion, "%.64q is not a version of Kubernetes such as v1.34.4", s)
	}
	return Version{
		Major: int(v.Major()), Minor: int(v.Minor()), Patch: int(v.Patch()), //nolint:gosec // none is larger than largest
		Pre: v.Prerelease(), Build: v.Metadata(),
	}, nil
}

// String returns the version as Kubernetes writes it: v1.34.4.
func (v Version) String() string { return "v" + v.semver().Original() }

// Name returns the version as part of an object's name, where a "+" and capitals are
// not allowed.
func (v Version) Name() string { return strings.ToLower(strings.ReplaceAll(v.String(), "+", "-")) }

// Line returns the minor that the version belongs to: v1.34.
func (v Version) Line() string {
	return fmt.Sprintf("v%d.%d", v.Major, v.Minor)
}

// Compare returns a negative number if v is older than other, a positive one if it is
// newer, and 0 if they are equal. Versions that differ in their build alone have no
// order in semver: here they have that of the builds' text, so that only equal versions
// compare as equal.
func (v Version) Compare(other Version) int {
	if order := cmp.Or(cmp.Compare(v.Major, other.Major), cmp.Compare(v.Minor, other.Minor), cmp.Compare(v.Patch, other.Patch)); order != 0 {
		return order
	}
	if v.Pre != other.Pre {
		return v.semver().Compare(other.semver())
	}
	return cmp.Compare(v.Build, other.Build)
}

func (v Version) semver() *semver.Version {
	return semver.New(uint64(v.Major), uint64(v.Minor), uint64(v.Patch), v.Pre, v.Build) //nolint:gosec // none is negative
}

// Less reports whether v is older than other.
func (v Version) Less(other Version) bool { return v.Compare(other) < 0 }

// SameLine reports whether both belong to one minor.
func (v Version) SameLine(other Version) bool {
	return v.Major == other.Major && v.Minor == other.Minor
}

// Reached reports whether got is want or a later version. It is false if got is not a
// version.
func Reached(got string, want Version) bool {
	v, err := Parse(got)
	return err == nil && !v.Less(want)
}

// AtLeast reports whether got is want or a later version. It is false if one of them is not a
// version.
func AtLeast(got, want string) bool {
	v, err := Parse(want)
	return err == nil && Reached(got, v)
}
