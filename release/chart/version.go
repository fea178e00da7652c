package main

import (
	"strings"

	"github.com/Masterminds/semver/v3"
)

// semantic returns the chart's version: v1.2.3 without its v. What `git describe` says where
// there is no tag is no semantic version, and comes before all published ones.
func semantic(version string) string {
	bare := strings.TrimPrefix(version, "v")
	if _, err := semver.StrictNewVersion(bare); err == nil {
		return bare
	}
	// With the letter, a commit's name of digits alone cannot be a number with leading zeros.
	return "0.0.0-g" + version
}
