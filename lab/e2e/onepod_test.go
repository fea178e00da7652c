//go:build e2e

package e2e

import "strings"

// onePod returns a Deployment of that name with a single pod, on w1, and a separator.
func onePod(name string) string {
	return strings.ReplaceAll(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      nodeSelector: {kubernetes.io/hostname: w1}
      terminationGracePeriodSeconds: 1
      containers: [{name: pause, image: registry.k8s.io/pause:3.10.1}]
---`, "NAME", name)
}
