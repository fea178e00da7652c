//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/probe"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// kindsOfClusters are whole kinds of clusters, and clusters whose admission refuses something.
var kindsOfClusters = []strangeCluster{
	{
		name: "admission-rules", public: "Kubernetes' page on pod security, and the policy libraries of Kyverno and Gatekeeper", middle: true,
		make: "cat >/root/rules.yaml <<'EOF'" + admissionRules + "EOF\n$kubectl apply -f /root/rules.yaml; sleep 5; " +
			"$kubectl -n kubectl-upgrade delete pod -l app.kubernetes.io/component=node-agent --field-selector spec.nodeName=w1",
		screens: map[string]string{"doctor": "fail +admission .*refuse the agents. pods: .*hostPath", "status": "w1 .*no pod: .*hostPath"},
		undo:    "$kubectl delete -f /root/rules.yaml",
	},
	{
		name: "port-taken", with: "writes", public: "Flatcar's guide for high availability, HAProxy on port 8443", goes: true,
		make: "deployment='-n kubectl-upgrade deployment/coordinator'; $kubectl scale $deployment --replicas 0; $kubectl rollout status $deployment; sleep 5; " +
			"printf '[Service]\\nExecStart=/usr/bin/systemd-socket-activate -l 8443 sleep infinity\\n[Install]\\nWantedBy=multi-user.target\\n' >/etc/systemd/system/balancer.service; systemctl daemon-reload; " +
			"systemctl enable --now balancer; $kubectl scale $deployment --replicas 2; $kubectl rollout status $deployment; sleep 75", // it tells what lasts for a minute
		screens: map[string]string{"doctor": "warn +coordinator .*8443", "status": "NotServed: .*8443"},
		undo:    "systemctl disable --now balancer; rm /etc/systemd/system/balancer.service; $kubectl -n kubectl-upgrade rollout restart deployment/coordinator; $kubectl -n kubectl-upgrade rollout status deployment/coordinator",
	},
	{
		name: "webhook-on-leases", with: "writes", public: "kubernetes/kubernetes#117068",
		make: awayWebhook("leases", `"leases"`, "coordination.k8s.io", "UPDATE"), undo: deleteWebhook("leases"),
		screens: map[string]string{"doctor": "fail +coordinator ", "status": "Problem: .*[Cc]oordinator"},
	},
	webhookAway("nodes", `"nodes"`, "UPDATE"),
	webhookAway("evictions", `"pods/eviction"`, "CREATE"),
	{
		name: "webhook-on-pods", with: "writes", public: "gatekeeper#2107", goes: true, words: "webhook-no-backend.*pods.away",
		make: awayWebhook("pods", `"pods"`, "", "CREATE"), undo: deleteWebhook("pods"),
	},
	{
		name: "no-kube-proxy", public: "Flatcar's guide for high availability", kind: true, goes: true,
		config:     func(c map[string]any) { within(c, "proxy")["disabled"] = true },
		make:       "$kubectl -n kube-system get daemonset kube-proxy -o yaml >/root/kube-proxy.yaml; $kubectl -n kube-system delete daemonset kube-proxy --cascade=foreground",
		everywhere: standIn, undoEverywhere: "systemctl disable --now stand-in; rm /etc/systemd/system/stand-in.service /root/stand-in.*; nft delete table ip standin",
		after: "! $kubectl -n kube-system get daemonset kube-proxy", undo: "$kubectl apply -f /root/kube-proxy.yaml",
	}, {
		name: "serving-certificates", public: "Kubernetes' pages on serverTLSBootstrap, drop-ins, graceful node shutdown and kubeadm's patches", kind: true, goes: true,
		make: "mkdir -p /etc/kubernetes/patches; printf 'metadata:\\n  annotations: {team: a}\\n' >/etc/kubernetes/patches/kube-apiserver0+merge.yaml; " +
			"cp /etc/kubernetes/kubeadm-upgrade.yaml /root/kubeadm-upgrade.yaml; sed -i 's,^apply:,&\\n  patches: {directory: /etc/kubernetes/patches},' /etc/kubernetes/kubeadm-upgrade.yaml; " +
			"systemd-run --unit approver sh -c 'while sleep 2; do kubectl --kubeconfig /etc/kubernetes/admin.conf get csr -o name | xargs -r kubectl --kubeconfig /etc/kubernetes/admin.conf certificate approve; done'",
		everywhere: dropIn("serving.conf", "serverTLSBootstrap: true\\nshutdownGracePeriod: 20s\\nshutdownGracePeriodCriticalPods: 5s") +
			"; systemctl restart kubelet; for i in $(seq 60); do [ -e /var/lib/kubelet/pki/kubelet-server-current.pem ] && break; sleep 1; done; ls /var/lib/kubelet/pki/kubelet-server-current.pem",
		undoEverywhere: undoDropIn("serving.conf") + "; systemctl restart kubelet",
		after:          "grep -q 'team: a' /etc/kubernetes/manifests/kube-apiserver.yaml",
		undo:           "cp /root/kubeadm-upgrade.yaml /etc/kubernetes/kubeadm-upgrade.yaml; rm -r /etc/kubernetes/patches",
	},
}

// webhookAway is a cluster with a webhook that is away, and refuses what a node's turn writes.
func webhookAway(what, resource, operation string) strangeCluster {
	const pod = "$kubectl -n default %s deployment evicted%s; "
	return strangeCluster{
		name: "webhook-on-" + what, with: "writes", public: "Kubernetes' page on admission webhooks", middle: true,
		words:   "failed calling webhook .*" + what + ".away.example.com",
		make:    fmt.Sprintf(pod, "create", "-from-"+what+" --image=registry.k8s.io/pause:3.10.1") + awayWebhook(what, resource, "", operation),
		undo:    fmt.Sprintf(pod, "delete", "-from-"+what) + deleteWebhook(what),
		screens: map[string]string{"doctor": "fail +admission .*failed calling webhook"},
	}
}

func deleteWebhook(what string) string {
	return "$kubectl delete validatingwebhookconfiguration away-" + what + "; sleep 5"
}

// awayWebhook makes a webhook that reviews a resource outside kube-system, and whose backend does not exist.
func awayWebhook(what, resource, group, operation string) string {
	return fmt.Sprintf(`printf 'apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: away-%s}\nwebhooks: [{name: %s.away.example.com, failurePolicy: Fail, `+
		`sideEffects: None, timeoutSeconds: 5, admissionReviewVersions: [v1], clientConfig: {service: {namespace: default, name: away-%s}}, `+
		`namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, kube-node-lease]}]}, `+
		`rules: [{apiGroups: ["%s"], apiVersions: [v1], operations: [%s], resources: [%s]}]}]\n' | $kubectl apply -f -; sleep 5`, what, what, what, group, operation, resource)
}

// standIn plays the part of a CNI plugin that replaces kube-proxy, for the services kubernetes and kube-dns only.
const standIn = `admin >/root/stand-in.conf
cat >/root/stand-in.sh <<'EOF'
k="kubectl --kubeconfig /root/stand-in.conf"
while sleep 1; do
  api=$($k get endpoints kubernetes -o jsonpath='{.subsets[0].addresses[0].ip}' 2>/dev/null) || continue
  dns=$($k -n kube-system get endpoints kube-dns -o jsonpath='{.subsets[0].addresses[0].ip}' 2>/dev/null) || continue
  [ "$api $dns" != "$(cat /run/stand-in 2>/dev/null)" ] || continue
  nft -f - <<RULES && echo "$api $dns" >/run/stand-in
table ip standin
delete table ip standin
table ip standin {
  chain services {
    ip daddr 10.96.0.1 tcp dport 443 dnat to $api:6443
    ip daddr 10.96.0.10 udp dport 53 dnat to $dns:53
    ip daddr 10.96.0.10 tcp dport 53 dnat to $dns:53
  }
  chain prerouting { type nat hook prerouting priority -100; jump services; }
  chain output { type nat hook output priority -100; jump services; }
  chain postrouting { type nat hook postrouting priority 100; ct status dnat masquerade; }
}
RULES
done
EOF
printf '[Service]\nExecStart=/bin/sh /root/stand-in.sh\nRestart=always\n[Install]\nWantedBy=multi-user.target\n' >/etc/systemd/system/stand-in.service
systemctl daemon-reload; rm -f /run/stand-in; systemctl enable --now stand-in
iptables-save | grep -v KUBE- | iptables-restore
for i in $(seq 30); do nft list table ip standin >/dev/null 2>&1 && break; sleep 1; done; nft list table ip standin
`

// admissionRules are the usual ones, for every namespace that is not Kubernetes' own.
const admissionRules = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: rules}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}]}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - {message: no hostPath, expression: "!has(object.spec.volumes) || object.spec.volumes.all(v, !has(v.hostPath))"}
  - {message: no root, expression: "has(object.spec.securityContext) && object.spec.securityContext.?runAsNonRoot.orValue(false)"}
  - {message: no latest, expression: "object.spec.containers.all(c, !c.image.endsWith(':latest'))"}
  - {message: a label team, expression: "has(object.metadata.labels) && 'team' in object.metadata.labels"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: rules}
spec: {policyName: rules, validationActions: [Deny]}
`

// service watches the web service from outside, and the API, while a kind of clusters is upgraded.
type service struct {
	began time.Time
	api   *probe.Probe
	stop  context.CancelFunc
}

// watchService begins to watch, the API at an address or that of the lab. The web service has been asked since startClient.
func (c *testCluster) watchService(address string) *service {
	ctx, stop := context.WithCancel(c.ctx)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // it asks for /livez only
	s := &service{time.Now(), probe.New("API", cmp.Or(address, c.config.Host)+"/livez", transport, timelimit.Scale(200*time.Millisecond)), stop}
	go s.api.Run(ctx)
	return s
}

// check fails the test if a request to the web service was lost, and returns the figures.
func (s *service) check(t *testing.T, c *testCluster) string {
	t.Helper()
	s.stop()
	var asked, lost int
	for _, a := range c.prober.Answers() {
		if a.Asked.Before(s.began) {
			continue
		}
		asked++
		if a.Err != nil {
			lost++
			t.Error(c.told(a.Asked, a.Ended, fmt.Sprintf("the web service did not answer at %s: %v", a.Asked.Format(time.TimeOnly), a.Err)))
		}
	}
	if asked < 1000 {
		t.Errorf("the web service was asked only %d times", asked)
	}
	away := probe.Longest(s.api.Answers()).Length().Round(100 * time.Millisecond)
	return fmt.Sprintf("a patch and a reboot of every node: of %d requests %d were lost, the API of %d control plane(s) was away for %s at most", asked, lost, len(c.controlPlanes()), away)
}

// rebootAll reboots every node by an upgrade.
func (c *testCluster) rebootAll(t *testing.T, name string) {
	t.Helper()
	c.apply(t, fmt.Sprintf("apiVersion: kubectl-upgrade.dev/v1alpha1\nkind: ClusterUpgrade\nmetadata: {name: %s}\nspec: {type: Reboot, rebootPolicy: Always, strategy: {settleSeconds: 5}}\n", name))
	c.eventually(t, 15*time.Minute, name+" has succeeded", func() error { return c.upgradeSucceeded(name) })
}

// findingsOfTheLab are the ids of findings that every cluster of the lab has: the web service has no liveness probe, a reboot
// of one of its two nodes brings both replicas to the other one, and nodes have a drop-in of systemd-sysupdate's units.
var findingsOfTheLab = []string{"no-liveness-probe", "one-node", "sysupdate-timer"}

// checkFindings fails the test if an upgrade has a finding other than words, and those of the lab.
func (c *testCluster) checkFindings(t *testing.T, upgrade, words string) {
	t.Helper()
	u, err := c.ours.ClusterUpgrades.Get(c.ctx, upgrade, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range u.Status.Findings {
		if slices.Contains(findingsOfTheLab, f.ID) {
			continue
		}
		if said := fmt.Sprintf("%s %s: %s", f.Level, f.ID, f.Message); words == "" || !regexp.MustCompile(words).MatchString(said) {
			t.Errorf("%s has the finding %s", upgrade, said)
		}
	}
}

// awaitScreens waits until each command says what it should.
func (c *testCluster) awaitScreens(t *testing.T, screens map[string]string) (said []string) {
	t.Helper()
	for verb, words := range screens {
		pattern := regexp.MustCompile("(?m)^.*" + words + ".*$")
		c.eachSecond(t, 4*time.Minute, verb+" says "+words, func() error {
			out, _ := c.Upgrade(c.ctx, verb) // doctor fails where it says so
			line := pattern.FindString(out)
			if line == "" {
				return fmt.Errorf("it says\n%s", out)
			}
			said = append(said, verb+": "+strings.Join(strings.Fields(line), " "))
			return nil
		})
	}
	return said
}
