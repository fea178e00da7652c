package nodefacts

import "github.com/kubectl-upgrade/kubectl-upgrade/pkg/host"

// RefreshBlockers are the mounts that a refresh of the merged image would break
// now, as NodeFacts has them.
func RefreshBlockers(l host.Layout) ([]string, error) {
	g := &gatherer{Layout: l}
	data, err := g.read(mountsFile)
	if err != nil {
		return nil, err
	}
	return refreshBlockers(parseMounts(string(data))), nil
}
