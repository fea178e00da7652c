package artifacts

import (
	"strings"

	"golang.org/x/mod/modfile"
)

// commonPatch is the patch number under which the modules of every patch version are
// compiled. It is higher than any that is released, so that no module asks for more.
const commonPatch = ".999"

// kubernetesModules returns what a module requires and replaces to build a Kubernetes
// with that go.mod.
//
// Go's build cache tells modules apart by the version that is required, and not by the
// one that replaces it. So all patch versions of a minor are required as the same
// version: what two of them share is then compiled once. The modules of Kubernetes' own
// repository are published as v0.34.4 where Kubernetes is v1.34.4.
func kubernetesModules(goMod []byte, version string) (requires, replaces []string, err error) {
	file, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return nil, nil, err
	}
	rest := strings.TrimPrefix(version, "1.")
	minor, _, _ := strings.Cut(rest, ".")
	const kubernetes = "k8s.io/kubernetes"
	requires = []string{kubernetes + "@v1." + minor + commonPatch}
	replaces = []string{kubernetes + "=" + kubernetes + "@v" + version}
	staged := map[string]bool{}
	for _, replace := range file.Replace {
		if strings.HasPrefix(replace.New.Path, "./") {
			staged[replace.Old.Path] = true
			replaces = append(replaces, replace.Old.Path+"="+replace.Old.Path+"@v0."+rest)
		}
	}
	for _, require := range file.Require {
		if staged[require.Mod.Path] {
			requires = append(requires, require.Mod.Path+"@v0."+minor+commonPatch)
		}
	}
	return requires, replaces, nil
}
