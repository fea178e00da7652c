package plan

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/version"

// versionReader parses each version once: thousands of nodes run the same few.
type versionReader map[string]*version.Version

// unknown is a version that no agent has reported.
var unknown version.Version

// version parses s; it returns the zero version if s is invalid.
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

// parsed parses s; it returns the zero version if s is invalid.
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

// atLeast reports whether got is known, and is v or later.
func atLeast(got, v version.Version) bool { return known(got) && !got.Less(v) }
