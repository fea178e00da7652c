package scenario

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Install loads the product's image, applies the manifests as a user does, and
// sets the lab's part of the UpgradePolicy, with the mode Manage. It returns when every
// node has its agent and the coordinator runs. source is the root of the checkout.
func (l Lab) Install(ctx context.Context, source, image string) error {
	return l.install(ctx, source, image, v1alpha1.ModeManage)
}

// InstallObserved does the same with the mode Observe.
func (l Lab) InstallObserved(ctx context.Context, source, image string) error {
	return l.install(ctx, source, image, v1alpha1.ModeObserve)
}

func (l Lab) install(ctx context.Context, source, image string, mode v1alpha1.ManagementMode) error {
	if _, err := l.Lab(ctx, "load-image", image); err != nil {
		return err
	}
	if _, err := l.Kube(ctx, "apply", "-k", filepath.Join(source, "manifests")); err != nil {
		return err
	}
	return l.Configure(ctx, source, mode)
}

// Configure sets the lab's part of the UpgradePolicy of an installation, with that mode, and
// returns when every node has its agent and the coordinator runs.
func (l Lab) Configure(ctx context.Context, source string, mode v1alpha1.ManagementMode) error {
	if err := l.applyPolicy(ctx, filepath.Join(source, "lab", "manifests", "policy.yaml"), mode); err != nil {
		return err
	}
	for _, workload := range []string{"daemonset/node-agent", "deployment/coordinator"} {
		if _, err := l.Kube(ctx, "-n", "kubectl-upgrade", "rollout", "status", workload, "--timeout", timelimit.Scale(3*time.Minute).String()); err != nil {
			return fmt.Errorf("waiting for %s: %w", workload, err)
		}
	}
	return nil
}

// web is a service that can lose any one of its two pods.
const web = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}
      containers:
        - name: web
          image: kubectl-upgrade.dev/lab-web:dev
          ports: [{containerPort: 8080}]
          readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
          resources: {requests: {cpu: 10m, memory: 16Mi}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`

// StartWeb runs the web service and returns its cluster address.
func (l Lab) StartWeb(ctx context.Context) (string, error) {
	dir := filepath.Dir(l.Program)
	tar := filepath.Join(dir, "lab-web.tar")
	if _, err := l.Lab(ctx, "build-image", "--binary", filepath.Join(dir, "lab-web"), "--ref", "kubectl-upgrade.dev/lab-web:dev", "--out", tar); err != nil {
		return "", err
	}
	if _, err := l.Lab(ctx, "load-image", tar); err != nil {
		return "", err
	}
	if err := l.KubeApply(ctx, web); err != nil {
		return "", err
	}
	if _, err := l.Kube(ctx, "rollout", "status", "deployment/web", "--timeout", timelimit.Scale(2*time.Minute).String()); err != nil {
		return "", err
	}
	return l.Kube(ctx, "get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
}
