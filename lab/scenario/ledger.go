package scenario

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// ledgerDir is the folder of a member's data on its node.
const ledgerDir = "/var/lib/ledger"

// ledgerVolume is a node's local volume. A pod that uses it runs on that node and no other.
const ledgerVolume = `
apiVersion: v1
kind: PersistentVolume
metadata: {name: ledger-%[1]s}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: ledger
  local: {path: ` + ledgerDir + `}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%[1]s]}]}]}}
---
`

// ledger is an etcd of three members, each with a local volume, of which one may be away.
const ledger = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: ledger}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: Service
metadata: {name: ledger-peers, namespace: default}
spec: {clusterIP: None, publishNotReadyAddresses: true, selector: {app: ledger}, ports: [{port: 2380}]}
---
apiVersion: v1
kind: Service
metadata: {name: ledger, namespace: default}
spec: {selector: {app: ledger}, ports: [{port: 2379}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: ledger, namespace: default}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: ledger}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: ledger, namespace: default}
spec:
  replicas: 3
  serviceName: ledger-peers
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: ledger}}
  template:
    metadata: {labels: {app: ledger}}
    spec:
      tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}]
      containers:
        - name: etcd
          image: %s
          command:
            - /usr/local/bin/etcd
            - --name=$(NAME)
            - --data-dir=/data/etcd
            - --listen-peer-urls=http://0.0.0.0:2380
            - --listen-client-urls=http://0.0.0.0:2379
            - --advertise-client-urls=http://$(NAME).ledger-peers.default.svc.cluster.local:2379
            - --initial-advertise-peer-urls=http://$(NAME).ledger-peers.default.svc.cluster.local:2380
            - --initial-cluster=ledger-0=http://ledger-0.ledger-peers.default.svc.cluster.local:2380,ledger-1=http://ledger-1.ledger-peers.default.svc.cluster.local:2380,ledger-2=http://ledger-2.ledger-peers.default.svc.cluster.local:2380
          env: [{name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
          ports: [{containerPort: 2379}, {containerPort: 2380}]
          readinessProbe: {httpGet: {path: /health, port: 2379}, periodSeconds: 1, timeoutSeconds: 3}
          resources: {requests: {cpu: 10m, memory: 64Mi}}
          volumeMounts: [{name: data, mountPath: /data}]
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], storageClassName: ledger, resources: {requests: {storage: 1Gi}}}
`

// StartLedger runs a stateful workload with local data on three control-plane nodes, an etcd
// of the control plane's own image, and returns the URL of its service.
func (l Lab) StartLedger(ctx context.Context, nodes ...string) (string, error) {
	image, err := l.Exec(ctx, nodes[0], "sed", "-n", "s/^ *image: //p", "/etc/kubernetes/manifests/etcd.yaml")
	if err != nil {
		return "", err
	}
	var manifest strings.Builder
	for _, node := range nodes {
		if _, err := l.Exec(ctx, node, "mkdir", "-p", ledgerDir); err != nil {
			return "", err
		}
		fmt.Fprintf(&manifest, ledgerVolume, node)
	}
	fmt.Fprintf(&manifest, ledger, strings.TrimSpace(image))
	if err := l.KubeApply(ctx, manifest.String()); err != nil {
		return "", err
	}
	if _, err := l.Kube(ctx, "-n", "default", "rollout", "status", "statefulset/ledger", "--timeout", timelimit.Scale(3*time.Minute).String()); err != nil {
		return "", err
	}
	address, err := l.Kube(ctx, "-n", "default", "get", "service", "ledger", "-o", "jsonpath={.spec.clusterIP}")
	return "http://" + address + ":2379", err
}
