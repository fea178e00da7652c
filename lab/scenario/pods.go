package scenario

import (
	"context"
	"fmt"
)

// pinned is a pod that runs only on one node and takes long to end. Its image is
// the web service's, which StartWeb has loaded.
const pinned = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      nodeSelector: {kubernetes.io/hostname: %[2]s}
      terminationGracePeriodSeconds: 600
      containers:
        - name: web
          image: kubectl-upgrade.dev/lab-web:dev
          env: [{name: FAREWELL, value: %[3]s}]
          resources: {requests: {cpu: 10m, memory: 16Mi}}
`

const budget = `---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: %[1]s, namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {app: %[1]s}}}
`

// Hold runs a pod on the node with a PodDisruptionBudget that allows no eviction,
// so that the node cannot be drained.
func (l Lab) Hold(ctx context.Context, node string) error {
	return l.KubeApply(ctx, fmt.Sprintf(pinned+budget, "hold-"+node, node, "0s"))
}

// LetGo deletes the PodDisruptionBudget.
func (l Lab) LetGo(ctx context.Context, node string) error {
	_, err := l.Kube(ctx, "delete", "poddisruptionbudget", "hold-"+node)
	return err
}

// Slow runs a pod on the node that may be evicted, and needs that long to end.
func (l Lab) Slow(ctx context.Context, node, farewell string) error {
	return l.KubeApply(ctx, fmt.Sprintf(pinned, "slow-"+node, node, farewell))
}

// KillSlow deletes that pod at once.
func (l Lab) KillSlow(ctx context.Context, node string) error {
	if _, err := l.Kube(ctx, "scale", "deployment", "slow-"+node, "--replicas", "0"); err != nil {
		return err
	}
	_, err := l.Kube(ctx, "delete", "pods", "-l", "app=slow-"+node, "--grace-period=0", "--force")
	return err
}
