//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ownLab is a lab for clusters whose shape differs. Nothing of it is undone.
type ownLab struct {
	name          string
	controlPlanes int
	kubeadm       string   // documents for `lab up --kubeadm`
	packages      []string // of Debian, unpacked at /opt/packages of the control planes
	// form is a script that runs on one node after the other, control planes first, before kubectl-upgrade is installed.
	form string
}

func (l *ownLab) String() string {
	if l == nil {
		return "lab"
	}
	return l.name
}

// make makes the lab, and installs kubectl-upgrade.
func (l *ownLab) make(t *testing.T, workers int) *testCluster {
	t.Helper()
	if l == nil {
		return newCluster(t, 1, workers)
	}
	var flags []string
	if l.kubeadm != "" {
		file := filepath.Join(t.TempDir(), "kubeadm.yaml")
		if err := os.WriteFile(file, []byte(l.kubeadm), 0o600); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "--kubeadm", file)
	}
	c := newLab(t, l.controlPlanes, workers, flags...)
	if l.packages != nil {
		folder := strings.TrimSpace(c.must(t)(c.Lab.Lab(c.ctx, append([]string{"packages"}, l.packages...)...)))
		for _, node := range c.nodes[:l.controlPlanes] {
			c.unpack(t, folder, node)
		}
	}
	c.onNodes(t, l.form, c.nodes...)
	c.install(t)
	c.connect(t)
	return c
}

// unpack copies the programs and libraries of a folder to /opt/packages of a node.
func (c *testCluster) unpack(t *testing.T, folder, node string) {
	t.Helper()
	copied := fmt.Sprintf(`tar -C %s --exclude=gconv --exclude='perl*' -c usr/sbin usr/lib | %s exec %s -- sh -c 'mkdir -p /opt/packages && tar -C /opt/packages -x'`, folder, c.Program, node)
	if out, err := exec.CommandContext(c.ctx, "sh", "-ec", copied).CombinedOutput(); err != nil {
		t.Fatalf("copying %s to %s: %v\n%s", folder, node, err, out)
	}
}

// clustersOfOwnShape are kinds of clusters that need a lab of their own.
var clustersOfOwnShape = []strangeCluster{
	{
		name: "moving-address", public: "kubeadm's guide for high availability: keepalived with HAProxy on port 8443", kind: true, goes: true, lab: movingAddress, address: "https://10.88.0.5:8443",
		// cp1 has had the address at first, and after each of its two reboots.
		after: "[ $(journalctl -u keepalived | grep -c 'Entering MASTER STATE') -ge 3 ]; ip address show dev host0 | grep -q 10.88.0.5",
	}, {
		name: "external-etcd", public: "kubeadm's guide for an external etcd, and Kubespray's host units", kind: true, goes: true, lab: externalEtcd,
		after: "systemctl is-active etcd; ! ls /etc/kubernetes/manifests/etcd.yaml",
	}, {
		name: "external-etcd-member-away", public: "etcd's page on failures", lab: externalEtcd, words: "etcd-quorum",
		everywhere: "[ $(hostname) != cp3 ] || systemctl stop etcd", undoEverywhere: "[ $(hostname) != cp3 ] || systemctl start etcd",
	}, {
		name: "dual-stack", public: "Kubernetes' page on dual stack", kind: true, goes: true, lab: dualStack,
		after: "[ $($kubectl get nodes -o jsonpath='{.items[*].status.addresses[?(@.type==\"InternalIP\")].address}' | grep -o fd00:10:88:: | wc -l) = 3 ]; " +
			"$kubectl patch service web -p '{\"spec\":{\"ipFamilyPolicy\":\"PreferDualStack\"}}'; sleep 10; " +
			"curl -sSfg -m 10 -o /dev/null http://[$($kubectl get service web -o jsonpath='{.spec.clusterIPs[1]}')]/",
	},
}

// movingAddress has 10.88.0.5 on one of three control planes, where all kubelets and clients reach the API servers.
var movingAddress = &ownLab{
	name: "keepalived", controlPlanes: 3, packages: []string{"haproxy", "keepalived"},
	kubeadm: "kind: ClusterConfiguration\napiServer: {certSANs: [10.88.0.5]}\n",
	form: `case $(hostname) in cp*)
n=$(hostname | tr -d cp)
cat >/etc/haproxy.cfg <<'END'
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
frontend api
  bind *:8443
  default_backend servers
backend servers
  option httpchk GET /readyz
  http-check expect status 200
  balance roundrobin
  default-server check check-ssl verify none inter 1s fall 2 rise 2 on-marked-down shutdown-sessions
  server cp1 10.88.0.11:6443
  server cp2 10.88.0.12:6443
  server cp3 10.88.0.13:6443
END
cat >/etc/keepalived.conf <<END
global_defs {
  script_user root
}
vrrp_script balancer {
  script "/usr/bin/curl -sk -m 2 -o /dev/null https://127.0.0.1:8443/livez"
  interval 2
  fall 2
  rise 2
}
vrrp_instance api {
  state BACKUP
  interface host0
  virtual_router_id 51
  priority $((200 - n * 10))
  advert_int 1
  unicast_src_ip 10.88.0.1$n
  unicast_peer {
$(for peer in 1 2 3; do [ $peer = $n ] || echo "    10.88.0.1$peer"; done)
  }
  virtual_ipaddress {
    10.88.0.5/24 dev host0
  }
  track_script {
    balancer
  }
}
END
unit() { # NAME COMMAND
  printf '[Unit]\nAfter=network-online.target\n[Service]\nEnvironment=LD_LIBRARY_PATH=%s\nExecStart=/opt/packages/usr/sbin/%s\nRestart=always\nRestartSec=1\n[Install]\nWantedBy=multi-user.target\n' \
    "$(echo /opt/packages/usr/lib/*-linux-gnu)" "$2" >/etc/systemd/system/$1.service
}
unit haproxy 'haproxy -db -f /etc/haproxy.cfg'
mkdir -p /etc/keepalived
touch /etc/keepalived/keepalived.config-opts # Debian's build does not start without
unit keepalived 'keepalived --dont-fork -f /etc/keepalived.conf'
systemctl daemon-reload; systemctl enable --now haproxy keepalived
esac
for i in $(seq 60); do curl -sfk -m 2 -o /dev/null https://10.88.0.5:8443/readyz && break; sleep 1; done
curl -sfk -m 2 -o /dev/null https://10.88.0.5:8443/readyz
sed -i s,https://10.88.0.1:6443,https://10.88.0.5:8443, /etc/kubernetes/*.conf
systemctl restart kubelet
[ $(hostname) != cp1 ] || for map in kube-system/kubeadm-config kube-system/kube-proxy kube-public/cluster-info; do
  k="kubectl --kubeconfig /etc/kubernetes/admin.conf -n ${map%/*}"
  $k get configmap ${map#*/} -o yaml | sed s,10.88.0.1:6443,10.88.0.5:8443, | $k replace -f -
done
[ $(hostname) != cp1 ] || kubectl --kubeconfig /etc/kubernetes/admin.conf -n kube-system rollout restart daemonset/kube-proxy
`,
}

// externalEtcd has etcd's members as units of the control planes' hosts, of which kubeadm knows nothing but the addresses.
var externalEtcd = &ownLab{
	name: "external-etcd", controlPlanes: 3,
	form: `case $(hostname) in cp*) ;; *) exit 0 ;; esac
k="kubectl --kubeconfig /etc/kubernetes/admin.conf"
manifests=/etc/kubernetes/manifests
mkdir -p /opt/etcd
cp /proc/$(pgrep -x etcd)/exe /opt/etcd/etcd
printf '[Unit]\nBefore=kubelet.service\n[Service]\nType=notify\nExecStart=/opt/etcd/etcd %s\nRestart=always\n[Install]\nWantedBy=multi-user.target\n' \
  "$(sed -n 's/^    - \(--.*\)/\1/p' $manifests/etcd.yaml | tr '\n' ' ')" >/etc/systemd/system/etcd.service
mv $manifests/etcd.yaml /root/etcd.yaml
while pgrep -x etcd; do sleep 1; done
systemctl daemon-reload
systemctl enable --now etcd
sed -i 's|--etcd-servers=.*|--etcd-servers=https://10.88.0.11:2379,https://10.88.0.12:2379,https://10.88.0.13:2379|' $manifests/kube-apiserver.yaml
sleep 10
for i in $(seq 120); do curl -sfk -m 2 -o /dev/null https://$(hostname -i | grep -o '10.88.0.1[123]'):6443/readyz && break; sleep 1; done
[ $(hostname) = cp3 ] || exit 0
for i in $(seq 60); do $k get nodes && break; sleep 1; done
pki=/etc/kubernetes/pki
$k -n kube-system get configmap kubeadm-config -o yaml | sed 's|^      local:|      external:|
s|^        dataDir:.*|        endpoints: [https://10.88.0.11:2379, https://10.88.0.12:2379, https://10.88.0.13:2379]\n        caFile: '$pki'/etcd/ca.crt\n        certFile: '$pki'/apiserver-etcd-client.crt\n        keyFile: '$pki'/apiserver-etcd-client.key|' | $k replace -f -
$k -n kube-system get configmap kubeadm-config -o yaml | grep -q external:
`,
}

// dualStack has addresses of both families for nodes, pods and services.
var dualStack = &ownLab{
	name: "dual-stack", controlPlanes: 1,
	kubeadm: "kind: ClusterConfiguration\nnetworking: {podSubnet: \"10.244.0.0/16,fd00:10:244::/48\", serviceSubnet: \"10.96.0.0/12,fd00:10:96::/112\"}\n",
	form: `address=$(ip -4 -o address show dev host0 | grep -o '10\.88\.0\.[0-9]*' | head -n 1)
o=${address##*.}
cat >/etc/lab/boot6 <<END
echo 0 >/proc/sys/net/ipv6/conf/all/disable_ipv6
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
ip -6 address replace fd00:10:88::$o/64 dev host0 nodad
$(for peer in 11 21 22; do [ $peer = $o ] || echo "ip -6 route replace fd00:10:244:$peer::/64 via fd00:10:88::$peer"; done)
ip -6 route replace default via fd00:10:88::1
END
echo '. /etc/lab/boot6' >>/etc/lab/boot
. /etc/lab/boot6
sed -i 's|"ranges": .*|"ranges": [[{"subnet": "10.244.'$o'.0/24"}], [{"subnet": "fd00:10:244:'$o'::/64"}]]}|' /etc/cni/net.d/10-pods.conflist
` + extraFlags("--node-ip=$address,fd00:10:88::$o") + `
systemctl restart kubelet
for i in $(seq 60); do curl -sf -o /dev/null http://127.0.0.1:10248/healthz && break; sleep 1; done
`,
}
