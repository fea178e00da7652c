package cluster

import (
	"fmt"
	"regexp"
)

var (
	fullVersion = regexp.MustCompile(`^v?(1\.\d+\.\d+)$`)
	etcdVersion = regexp.MustCompile(`^3\.\d+\.\d+$`)
)

// bare returns a version without its v, as in file names.
func bare(version string) (string, error) {
	match := fullVersion.FindStringSubmatch(version)
	if match == nil {
		return "", fmt.Errorf("%q is not a Kubernetes version: write it as v1.34.4", version)
	}
	return match[1], nil
}
