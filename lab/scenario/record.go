package scenario

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Record returns the record of each node of a ClusterUpgrade that has ended. Before
// that, the nodes' steps are in their NodeUpgrades.
func (l Lab) Record(ctx context.Context, upgrade string) ([]v1alpha1.NodeRecord, error) {
	l.Out = nil
	uid, err := l.Kube(ctx, "get", "clusterupgrade", upgrade, "-o", "jsonpath={.metadata.uid}")
	if err != nil {
		return nil, err
	}
	out, err := l.Kube(ctx, "get", "upgraderecords", "-l", v1alpha1.UpgradeUIDLabel+"="+uid, "-o", "json")
	if err != nil {
		return nil, err
	}
	var pieces v1alpha1.UpgradeRecordList
	if err := json.Unmarshal([]byte(out), &pieces); err != nil {
		return nil, fmt.Errorf("reading the UpgradeRecords of %s: %w", upgrade, err)
	}
	slices.SortFunc(pieces.Items, func(a, b v1alpha1.UpgradeRecord) int { return cmp.Compare(a.Spec.Piece, b.Spec.Piece) })
	var nodes []v1alpha1.NodeRecord
	for _, piece := range pieces.Items {
		nodes = append(nodes, piece.Spec.Nodes...)
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("upgrade %s has no UpgradeRecord that names a node", upgrade)
	}
	return nodes, nil
}
