package etcd

import (
	"os"
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// healthy names the members that are.
func healthy(facts *v1alpha1.EtcdFacts) string {
	var names []string
	for _, m := range facts.Members {
		if m.Healthy {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, " ")
}

func find(t *testing.T, facts *v1alpha1.EtcdFacts, name string) v1alpha1.EtcdMember {
	t.Helper()
	for _, m := range facts.Members {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no member %q in %+v", name, facts)
	return v1alpha1.EtcdMember{}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	nodes := newCluster(t, 3)
	facts := Health(t.Context(), nodes[0].l)
	if facts.Problem != "" || len(facts.Members) != 3 || len(strings.Fields(healthy(facts))) != 3 || facts.DatabaseBytes == 0 {
		t.Fatalf("%+v", facts)
	}
	if own := Health(t.Context(), nodes[1].l).Members[0].Name; own != "cp2" {
		t.Errorf("cp2's own member is said to be %s", own)
	}
	if m := find(t, facts, "cp2"); !strings.HasPrefix(m.Version, "3.") || m.Learner || m.Problem != "" {
		t.Errorf("%+v", m)
	}

	nodes[2].kill()
	facts = Health(t.Context(), nodes[0].l)
	if got := healthy(facts); strings.Contains(got, "cp3") || len(strings.Fields(got)) != 2 {
		t.Errorf("healthy: %s", got)
	}
	if m := find(t, facts, "cp3"); !strings.Contains(m.Problem, "does not answer at "+nodes[2].client) {
		t.Errorf("%+v", m)
	}

	// Without a quorum the members are still told, and none of them is healthy.
	nodes[1].kill()
	facts = Health(t.Context(), nodes[0].l)
	if got := healthy(facts); got != "" || len(facts.Members) != 3 || find(t, facts, "cp1").Problem == "" {
		t.Errorf("healthy: %q of %+v", got, facts)
	}

	nodes[0].kill()
	if facts = Health(t.Context(), nodes[0].l); !strings.Contains(facts.Problem, "listing the members") {
		t.Errorf("%+v", facts)
	}
}

func TestLearnerIsNotHealthy(t *testing.T) {
	t.Parallel()
	n := newCluster(t, 1)[0]
	if _, err := n.dial().MemberAddAsLearner(t.Context(), []string{freeURL(t)}); err != nil {
		t.Fatal(err)
	}
	facts := Health(t.Context(), n.l)
	m := find(t, facts, "")
	if !m.Learner || m.Healthy || m.Problem == "" || healthy(facts) != "cp1" {
		t.Errorf("%+v", facts)
	}
}

// TestAlarm checks that an alarm, which stops writes, makes a member unhealthy.
func TestAlarm(t *testing.T) {
	n := newCluster(t, 1)[0]
	n.kill()
	// A quota below what is there raises NOSPACE at the first write.
	t.Setenv("ETCD_QUOTA_BACKEND_BYTES", "1")
	n.start(n.name + "=" + n.peer)
	n.await()
	_, _ = n.dial().Put(t.Context(), "a", "b")
	if m := find(t, Health(t.Context(), n.l), "cp1"); m.Healthy || !strings.Contains(m.Problem, "NOSPACE") {
		t.Errorf("%+v", m)
	}
}

func TestNoMember(t *testing.T) {
	n := &node{t: t, l: host.Layout{Dir: t.TempDir()}}
	if facts := Health(t.Context(), n.l); facts != nil {
		t.Errorf("%+v", facts)
	}
	n.write(host.ManifestsDir+"/etcd.yaml", "kind: Pod\nspec: {containers: [{name: etcd}]}")
	if facts := Health(t.Context(), n.l); !strings.Contains(facts.Problem, defaultPKI) {
		t.Errorf("%+v", facts)
	}
}

func TestManifest(t *testing.T) {
	n := &node{t: t, l: host.Layout{Dir: t.TempDir()}}
	n.write("/srv/both/healthcheck-client.crt", "")
	pod := func(command string) string {
		return "kind: Pod\nspec:\n  containers: [{name: etcd, command: [etcd, " + command + "], volumeMounts: [{name: pki, mountPath: /pki}]}]\n" +
			"  volumes: [{name: pki, hostPath: {path: /srv}}]\n"
	}
	const own = "--cert-file=/pki/x/server.crt, --key-file=/pki/x/server.key"
	for name, test := range map[string]struct {
		command string
		want    member
	}{
		"nothing":            {"", member{defaultEndpoint, defaultPKI + "/ca.crt", defaultPKI + "/healthcheck-client.crt", defaultPKI + "/healthcheck-client.key"}},
		"another folder":     {"--trusted-ca-file=/a/ca.pem", member{defaultEndpoint, "/a/ca.pem", "/a/healthcheck-client.crt", "/a/healthcheck-client.key"}},
		"in two words":       {"--trusted-ca-file, /a/ca.pem, --listen-client-urls, 'https://127.0.0.1:1'", member{"https://127.0.0.1:1", "/a/ca.pem", "/a/healthcheck-client.crt", "/a/healthcheck-client.key"}},
		"a volume":           {"--trusted-ca-file=/pki/both/ca.crt, " + own, member{defaultEndpoint, "/srv/both/ca.crt", "/srv/both/healthcheck-client.crt", "/srv/both/healthcheck-client.key"}},
		"the server's":       {"--trusted-ca-file=/pki/x/ca.crt, " + own, member{defaultEndpoint, "/srv/x/ca.crt", "/srv/x/server.crt", "/srv/x/server.key"}},
		"the server's alone": {own, member{defaultEndpoint, defaultPKI + "/ca.crt", "/srv/x/server.crt", "/srv/x/server.key"}},
	} {
		n.write(host.ManifestsDir+"/etcd.yaml", pod(test.command))
		found, err := findMember(t.Context(), n.l)
		if err != nil || *found != test.want {
			t.Errorf("%s: %+v %v", name, found, err)
		}
	}
	if err := os.Remove(n.l.At(host.ManifestsDir, "etcd.yaml")); err != nil {
		t.Fatal(err)
	}
	if found, err := findMember(t.Context(), n.l); found != nil || err != nil {
		t.Errorf("%+v %v", found, err)
	}
}

// TestMemberOfHost finds a member that is no static pod, by the arguments of the API server.
func TestMemberOfHost(t *testing.T) {
	n := &node{t: t, l: host.Layout{Dir: t.TempDir()}}
	for name, test := range map[string]struct{ servers, want string }{
		"one of three":     {"https://10.0.0.1:2379,https://10.0.0.2:2379,https://10.0.0.3:2379", "https://10.0.0.2:2379"},
		"loopback":         {"https://127.0.0.1:2379", "https://127.0.0.1:2379"},
		"by name":          {"https://localhost:2379", "https://localhost:2379"},
		"IPv6":             {"https://[::1]:2379", "https://[::1]:2379"},
		"other machines":   {"https://10.0.0.7:2379,https://10.0.0.8:2379", ""},
		"a machine's name": {"https://etcd.example.com:2379", ""},
		"no flag":          {"", ""},
	} {
		n.write(host.ManifestsDir+"/kube-apiserver.yaml", "kind: Pod\nmetadata: {annotations: {kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint: '10.0.0.2:6443'}}\n"+
			"spec:\n  containers: [{name: kube-apiserver, command: [kube-apiserver, '--etcd-servers="+test.servers+"', --etcd-cafile=/pki/ca.pem, --etcd-certfile=/pki/node.pem, --etcd-keyfile=/pki/node-key.pem], "+
			"volumeMounts: [{name: pki, mountPath: /pki}]}]\n  volumes: [{name: pki, hostPath: {path: /etc/ssl/etcd}}]\n")
		found, err := findMember(t.Context(), n.l)
		if err != nil || (found != nil) != (test.want != "") {
			t.Errorf("%s: %+v %v", name, found, err)
			continue
		}
		if want := (member{test.want, "/etc/ssl/etcd/ca.pem", "/etc/ssl/etcd/node.pem", "/etc/ssl/etcd/node-key.pem"}); found != nil && *found != want {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
