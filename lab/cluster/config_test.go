package cluster

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/lab/network"
	"github.com/kubectl-upgrade/kubectl-upgrade/lab/timelimit"
)

// documents reads a file of kubeadm's, by kind.
func documents(t *testing.T, text string) map[string]map[string]any {
	t.Helper()
	byKind := map[string]map[string]any{}
	reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return byKind
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.ToJSON(document)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		byKind[fields["kind"].(string)] = fields
	}
}

func render(t *testing.T, name string, config nodeConfig) map[string]map[string]any {
	t.Helper()
	text, err := config.render(name)
	if err != nil {
		t.Fatal(err)
	}
	return documents(t, text)
}

func at(fields map[string]any, path ...string) any {
	for _, name := range path[:len(path)-1] {
		fields, _ = fields[name].(map[string]any)
	}
	return fields[path[len(path)-1]]
}

var config = nodeConfig{Endpoint: network.ControlPlane(1), Version: "v1.34.3",
	Token: "abcdef.0123456789abcdef", CertificateKey: "key", CAHash: "sha256:1234"}

func TestInit(t *testing.T) {
	docs := render(t, "init.yaml", config)
	for _, want := range []struct {
		kind  string
		path  []string
		value any
	}{
		{"InitConfiguration", []string{"localAPIEndpoint", "advertiseAddress"}, "10.88.0.11"},
		{"InitConfiguration", []string{"nodeRegistration", "name"}, "cp1"},
		{"InitConfiguration", []string{"nodeRegistration", "ignorePreflightErrors"}, []any{"SystemVerification", "NumCPU", "HTTPProxyCIDR"}},
		{"InitConfiguration", []string{"timeouts", "kubernetesAPICall"}, "1m0s"}, // kubeadm's default
		{"InitConfiguration", []string{"certificateKey"}, "key"},
		{"ClusterConfiguration", []string{"kubernetesVersion"}, "v1.34.3"},
		{"ClusterConfiguration", []string{"controlPlaneEndpoint"}, "10.88.0.1:6443"},
		{"ClusterConfiguration", []string{"networking", "podSubnet"}, "10.244.0.0/16"},
		{"KubeletConfiguration", []string{"failCgroupV1"}, false},
		{"KubeletConfiguration", []string{"cgroupDriver"}, "systemd"},
		{"KubeProxyConfiguration", []string{"conntrack", "maxPerCore"}, 0.0},
	} {
		if diff := cmp.Diff(want.value, at(docs[want.kind], want.path...)); diff != "" {
			t.Errorf("%s %v (-want +got):\n%s", want.kind, want.path, diff)
		}
	}
}

func TestSlowMachinesHaveLongerTimeouts(t *testing.T) {
	t.Setenv(timelimit.Variable, "10")
	for file, kind := range map[string]string{
		"init.yaml": "InitConfiguration", "join.yaml": "JoinConfiguration", "upgrade.yaml": "UpgradeConfiguration",
	} {
		if got := at(render(t, file, config)[kind], "timeouts", "kubeletHealthCheck"); got != "40m0s" {
			t.Errorf("%s: the kubelet may take %v, want 40m0s", kind, got)
		}
	}
}

func TestJoin(t *testing.T) {
	worker := config
	worker.Endpoint = network.Worker(2)
	plane := config
	plane.Endpoint, plane.ControlPlane = network.ControlPlane(2), true
	for _, test := range []struct {
		config  nodeConfig
		address any
	}{{worker, nil}, {plane, "10.88.0.12"}} {
		join := render(t, "join.yaml", test.config)["JoinConfiguration"]
		if got := at(join, "controlPlane", "localAPIEndpoint"); test.address == nil && got != nil {
			t.Errorf("%s would get an API server: %v", test.config.Name, got)
		}
		if test.address != nil {
			if got := at(join, "controlPlane", "localAPIEndpoint", "advertiseAddress"); got != test.address {
				t.Errorf("%s advertises %v, want %v", test.config.Name, got, test.address)
			}
		}
		if got := at(join, "discovery", "bootstrapToken", "caCertHashes"); !cmp.Equal(got, []any{"sha256:1234"}) {
			t.Errorf("%s trusts %v", test.config.Name, got)
		}
		if got := at(join, "nodeRegistration", "name"); got != test.config.Name {
			t.Errorf("%s joins as %v", test.config.Name, got)
		}
	}
}

func TestAnUpgradeIgnoresWhatTheInitIgnored(t *testing.T) {
	upgrade := render(t, "upgrade.yaml", config)["UpgradeConfiguration"]
	want := at(render(t, "init.yaml", config)["InitConfiguration"], "nodeRegistration", "ignorePreflightErrors")
	for _, verb := range []string{"apply", "node", "plan"} {
		if diff := cmp.Diff(want, at(upgrade, verb, "ignorePreflightErrors")); diff != "" {
			t.Errorf("%s (-init +upgrade):\n%s", verb, diff)
		}
	}
	if cmp.Equal(want, []any{"all"}) {
		t.Error("every preflight error is ignored")
	}
}

func TestCAHash(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kubernetes"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(public)
	got, err := caHash(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	if want := "sha256:" + hex.EncodeToString(sum[:]); got != want || err != nil {
		t.Errorf("caHash = %q, %v; want %q", got, err, want)
	}
	for _, bad := range []string{"", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		if _, err := caHash([]byte(bad)); err == nil {
			t.Errorf("caHash(%q) gave no error", bad)
		}
	}
}

func TestTokensHaveKubeadmsForm(t *testing.T) {
	for range 20 {
		if token := newToken(); !regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`).MatchString(token) {
			t.Errorf("token %q", token)
		}
		if key := newCertificateKey(); len(key) != 64 {
			t.Errorf("certificate key %q", key)
		}
	}
}
