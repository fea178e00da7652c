package cluster

import (
	"fmt"
	"regexp"
)

var fullVersion = regexp.MustCompile(`^v?(1\.\d+\.\d+)$`)

// bare is a version without its v, as file names have it.
func bare(version string) (string, error) {
	match := fullVersion.FindStringSubmatch(version)
	if match == nil {
		return "", fmt.Errorf("%q is no Kubernetes version: write it as v1.34.4", version)
	}
	return match[1], nil
}
