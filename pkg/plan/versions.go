package plan

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"

// versionReader reads each version once: thousands of nodes run the same few.
type versionReader map[string]*version.Version

// unknown is what is known of a version that no agent has reported.
var unknown version.Version

// version returns the zero version for what cannot be read.
func (r versionReader) version(s string) *version.Version {
	if s == "" {
		return &unknown
	}
	if r[s] == nil {
		v := parsed(s)
		r[s] = &v
	}
	return r[s]
}

// parsed returns the zero version for what cannot be read.
func parsed(s string) version.Version {
	if s == "" {
		return version.Version{}
	}
	v, err := version.Parse(s)
	if err != nil {
		return version.Version{}
	}
	return v
}

func known(v version.Version) bool { return v != version.Version{} }

// atLeast reports whether a version that is known is v or a later one.
func atLeast(got, v version.Version) bool { return known(got) && !got.Less(v) }
