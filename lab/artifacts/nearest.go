package artifacts

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// nearest returns the version itself if the module proxy has it, and otherwise the newest
// earlier patch that it lists: a proxy need not have every old patch of every module. A later
// patch would bring later versions of the modules that it shares with others.
func (m goModule) nearest(ctx context.Context, path, version string) (string, error) {
	if _, err := m.source(ctx, path+"@"+version); err == nil {
		return version, nil
	}
	if err := os.MkdirAll(m.dir(), 0o755); err != nil {
		return "", err
	}
	listed, err := m.run(ctx, nil, "list", "-m", "-versions", path)
	if err != nil {
		return "", fmt.Errorf("listing the versions of %s: %w", path, err)
	}
	version, err = nearestPatch(strings.Fields(listed), version)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return version, nil
}

// nearestPatch returns the newest version of the same minor before the wanted one, or else
// the oldest after it.
func nearestPatch(listed []string, wanted string) (string, error) {
	want, err := semver.StrictNewVersion(strings.TrimPrefix(wanted, "v"))
	if err != nil {
		return "", err
	}
	var patches []*semver.Version
	for _, one := range listed {
		v, err := semver.StrictNewVersion(strings.TrimPrefix(one, "v"))
		if err == nil && v.Prerelease() == "" && v.Major() == want.Major() && v.Minor() == want.Minor() {
			patches = append(patches, v)
		}
	}
	if len(patches) == 0 {
		return "", fmt.Errorf("no patch of %s can be had", wanted)
	}
	slices.SortFunc(patches, (*semver.Version).Compare)
	earlier := 0
	for i, v := range patches {
		if v.LessThan(want) {
			earlier = i
		}
	}
	return "v" + patches[earlier].String(), nil
}
