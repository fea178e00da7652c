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
	"strings"
)

// Version is a release of Kubernetes.
type Version struct {
	Major, Minor, Patch int
}

// maxDigits is how many digits each of the three numbers may have.
const maxDigits = 4

// Parse reads v1.34.4 or 1.34.4. Pre-releases and vendors' suffixes are
// errors, *Refusals by RuleNotRelease: nothing is known of their order.
func Parse(s string) (Version, error) {
	var v Version
	rest := strings.TrimPrefix(s, "v")
	for i, field := range []*int{&v.Major, &v.Minor, &v.Patch} {
		text, after, dot := strings.Cut(rest, ".")
		n, ok := number(text)
		if last := i == 2; !ok || dot == last {
			return Version{}, refuse(RuleNotRelease, "%q is not a release of Kubernetes such as v1.34.4", s)
		}
		*field, rest = n, after
	}
	return v, nil
}

// number reads decimal digits without a leading zero.
func number(s string) (n int, ok bool) {
	if s == "" || len(s) > maxDigits || s[0] == '0' && s != "0" {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = 10*n + int(s[i]-'0')
	}
	return n, true
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

// Reached is whether got, which somebody reported, is want or a later version.
// What is not a version has reached nothing.
func Reached(got string, want Version) bool {
	v, err := Parse(got)
	return err == nil && !v.Less(want)
}
