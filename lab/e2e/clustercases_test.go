//go:build e2e

package e2e

// strangeCluster is a cluster as people really have them.
type strangeCluster struct {
	name   string
	public string // the public report, or the guide that says so
	// lab is the lab that it needs; nil: that of one control plane.
	lab *ownLab
	// with is the name of a batch, whose cases one upgrade has at once: those that hold it in the order in which that is said, of
	// which the first one may change kubeadm's configuration. Empty: it is alone.
	with string
	// config changes kubeadm's ClusterConfiguration. A person puts back what was there.
	config func(map[string]any)
	// make and undo are shell scripts on cp1, whose kubectl is the administrator's.
	make, undo string
	// staged is a script on cp1 that runs when the upgrade has its images there, and before it may go on; then awaited, on
	// cp1, has to succeed.
	staged, awaited string
	// everywhere and undoEverywhere run on each node after make and before undo.
	everywhere, undoEverywhere string
	// words is a regular expression of what a finding, or the status of cp1, says.
	words string
	// screens are regular expressions of what commands of the plugin say meanwhile.
	screens map[string]string
	// middle reports whether it holds nodes only once static pods were upgraded.
	middle bool
	// kind reports whether it is a whole kind of clusters: every node is rebooted, too, and requests from outside are counted.
	kind bool
	// address is that of the API for clients outside, such as https://10.88.0.5:8443. Empty: that of the lab's load balancer.
	address string
	// after is a script on cp1 that succeeds after the upgrade.
	after string
	// goes reports whether the upgrade goes through although that is said.
	goes bool
}

// strangeClusters are the clusters of `make e2e-clusters`.
var strangeClusters = []strangeCluster{
	{
		name: "removed-flag", public: "kubernetes 1.33 CHANGELOG, --cloud-provider",
		config: extraArg("apiServer", "cloud-provider", "external"), words: "unknown flag: --cloud-provider",
	}, {
		name: "removed-gate", public: "kubernetes 1.33 CHANGELOG, CPUManager",
		config: extraArg("scheduler", "feature-gates", "CPUManager=true"), words: "kube-scheduler of .* unrecognized feature gate: CPUManager",
	}, {
		name: "etcd-flag", public: "etcd 3.6's upgrade guide",
		config: func(c map[string]any) {
			local, _ := within(c, "etcd")["local"].(map[string]any)
			if local == nil {
				local = map[string]any{}
				within(c, "etcd")["local"] = local
			}
			local["extraArgs"] = []any{map[string]any{"name": "experimental-initial-corrupt-check-x", "value": "true"}}
		}, words: "flag provided but not defined: -experimental-initial-corrupt-check-x",
	}, {
		name: "missing-file", public: "kubeadm#1286",
		config: func(c map[string]any) {
			extraArg("apiServer", "audit-policy-file", "/etc/kubernetes/audit.yaml")(c)
			within(c, "apiServer")["extraVolumes"] = []any{map[string]any{"name": "audit", "hostPath": "/etc/kubernetes/audit.yaml", "mountPath": "/etc/kubernetes/audit.yaml", "readOnly": true, "pathType": "File"}}
		}, words: "--audit-policy-file=/etc/kubernetes/audit.yaml, and /etc/kubernetes/audit.yaml is not on the node",
	}, {
		name: "no-volume", with: "held", public: "kubeadm's page on customizing components",
		config: extraArg("apiServer", "authentication-config", "/etc/authentication.yaml"), words: "/etc/authentication.yaml, which no volume of the pod brings",
	}, {
		name: "edited-pod", with: "warned", public: "kubeadm#1318",
		make: "sed -i 's,    - --tls-cert-file=,    - --profiling=false\\n&,' /etc/kubernetes/manifests/kube-apiserver.yaml; " + awaitAPIServer,
		undo: "true", words: "kube-apiserver: --profiling=false is removed", goes: true,
	}, {
		name: "unknown-gate-of-kubeadm", with: "silent", public: "kubeadm#2835", goes: true, // kubeadm upgrade passes over it
		config: func(c map[string]any) { within(c, "featureGates")["IPv6DualStack"] = true },
	}, {
		name: "proxy-configuration", with: "held", public: "kubeadm#2699",
		make:  "$kubectl -n kube-system get configmap kube-proxy -o yaml >/root/proxy.yaml; sed 's,^    mode: .*,    mode: userspace,' /root/proxy.yaml | $kubectl apply -f -",
		undo:  "sed '/resourceVersion/d' /root/proxy.yaml | $kubectl replace -f -",
		words: "kube-proxy of .*must be iptables",
	}, {
		name: "old-upgrade-configuration", with: "held", public: "kubeadm's migration guide to v1beta4",
		make: "cp /etc/kubernetes/kubeadm-upgrade.yaml /etc/kubernetes/kept.yaml 2>/dev/null || true; printf 'apiVersion: kubeadm.k8s.io/v1beta3\\nkind: UpgradeConfiguration\\n' >/etc/kubernetes/kubeadm-upgrade.yaml",
		undo: "rm /etc/kubernetes/kubeadm-upgrade.yaml; mv /etc/kubernetes/kept.yaml /etc/kubernetes/kubeadm-upgrade.yaml 2>/dev/null || true", words: "refuses /etc/kubernetes/kubeadm-upgrade.yaml",
	}, {
		name: "images-collected", public: "kubernetes/kubernetes#120031",
		staged:  "systemctl stop kubelet; ctr -n k8s.io images ls -q | grep kube-apiserver | grep -v VERSION_OF_TODAY | xargs ctr -n k8s.io images rm --sync; systemctl start kubelet",
		awaited: "ctr -n k8s.io images ls -q | grep kube-apiserver | grep -q -v VERSION_OF_TODAY", goes: true,
	}, {
		name: "proxy-removed", public: "Cilium's guide without kube-proxy",
		make: "$kubectl -n kube-system get daemonset kube-proxy -o yaml >/root/kube-proxy.yaml; $kubectl -n kube-system delete daemonset kube-proxy",
		undo: "$kubectl apply -f /root/kube-proxy.yaml", words: "addon-removed.*kube-proxy",
	}, {
		name: "no-kubelet-config", public: "kubeadm#2067",
		make: "$kubectl -n kube-system get configmap kubelet-config -o yaml >/root/kubelet-config.yaml; $kubectl -n kube-system delete configmap kubelet-config",
		undo: "$kubectl apply -f /root/kubelet-config.yaml", words: "configmap-missing.*kubelet-config",
	}, {
		name: "backup-of-manifest", with: "warned", public: "kubeadm#2823", make: "cp /etc/kubernetes/manifests/kube-scheduler.yaml /etc/kubernetes/manifests/kube-scheduler.backup.yaml",
		undo: "rm /etc/kubernetes/manifests/kube-scheduler.backup.yaml", words: "both declare the pod kube-scheduler", goes: true,
	}, {
		name: "coredns-of-their-own", with: "held", public: "kubeadm#2346",
		make: "$kubectl -n kube-system get deployment coredns -o jsonpath='{.spec.template.spec.containers[0].image}' >/root/coredns; " +
			"$kubectl -n kube-system set image deployment/coredns coredns=$(cat /root/coredns)-own",
		undo: "$kubectl -n kube-system set image deployment/coredns coredns=$(cat /root/coredns)", words: "Block corefile: .*-own",
	}, {
		name: "taints-everywhere", with: "held", public: "kubeadm#2035",
		make: "$kubectl taint nodes --all team=a:NoSchedule", undo: "$kubectl taint nodes --all team-", words: "Block health-job: .*no node takes its pod",
	}, {
		name: "aggregated-api-away", with: "silent", public: "kubernetes/kubernetes#105246", goes: true,
		make: "printf 'apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.away.example.com}\nspec: {group: away.example.com, version: v1, groupPriorityMinimum: 100, " +
			"versionPriority: 100, insecureSkipTLSVerify: true, service: {namespace: default, name: away, port: 443}}\n' | $kubectl apply -f -",
		undo: "$kubectl delete apiservice v1.away.example.com",
	}, {
		name: "static-pod-with-admin-conf", with: "silent", public: "kube-vip's guide for static pods", goes: true,
		make: "image=$(ctr -n k8s.io images ls -q | grep pause | grep -v sha256 | head -n 1); printf 'apiVersion: v1\nkind: Pod\nmetadata: {name: kube-vip, namespace: kube-system}\nspec:\n  hostNetwork: true\n" +
			"  containers: [{name: kube-vip, image: \"%s\", imagePullPolicy: IfNotPresent, volumeMounts: [{name: config, mountPath: /etc/kubernetes/admin.conf}]}]\n" +
			"  volumes: [{name: config, hostPath: {path: /etc/kubernetes/admin.conf}}]\n' \"$image\" >/etc/kubernetes/manifests/kube-vip.yaml",
		undo: "rm /etc/kubernetes/manifests/kube-vip.yaml",
	}, {
		name: "files-of-the-api-server", with: "silent", public: "Kubernetes' pages on encryption at rest, auditing and admission", goes: true,
		make: "printf 'apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: [{resources: [secrets], providers: [{identity: {}}, {secretbox: {keys: [{name: a, secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=}]}}]}]\n' >/etc/kubernetes/encryption.yaml; " +
			"printf 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None}]\n' >/etc/kubernetes/audit.yaml; " +
			"printf 'apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: []\n' >/etc/kubernetes/admission.yaml",
		config: func(c map[string]any) {
			var volumes []any
			for name, arg := range map[string]string{"encryption": "encryption-provider-config", "audit": "audit-policy-file", "admission": "admission-control-config-file"} {
				path := "/etc/kubernetes/" + name + ".yaml"
				extraArg("apiServer", arg, path)(c)
				volumes = append(volumes, map[string]any{"name": name, "hostPath": path, "mountPath": path, "readOnly": true, "pathType": "File"})
			}
			within(c, "apiServer")["extraVolumes"] = volumes
		},
	},
}

// awaitAPIServer waits until the kubelet has started the API server anew.
const awaitAPIServer = "sleep 20; until $kubectl get nodes >/dev/null 2>&1; do sleep 1; done"

// within returns a part of a configuration, which it makes if there is none.
func within(config map[string]any, name string) map[string]any {
	part, _ := config[name].(map[string]any)
	if part == nil {
		part = map[string]any{}
		config[name] = part
	}
	return part
}

// extraArg adds an argument to a component.
func extraArg(component, name, value string) func(map[string]any) {
	return func(config map[string]any) {
		args, _ := within(config, component)["extraArgs"].([]any)
		within(config, component)["extraArgs"] = append(args, map[string]any{"name": name, "value": value})
	}
}
