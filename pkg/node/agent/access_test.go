package agent

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/access"
)

// kubeletFiles are the kubeconfig of a kubelet and its certificate, in a folder of their own.
type kubeletFiles struct {
	t                   *testing.T
	config, certificate string
}

func newKubeletFiles(t *testing.T) kubeletFiles {
	t.Helper()
	dir := t.TempDir()
	f := kubeletFiles{t: t, config: filepath.Join(dir, "kubelet.conf"), certificate: filepath.Join(dir, "kubelet-client-current.pem")}
	f.write(f.config, kubeletConf("https://10.0.0.1:6443", f.certificate))
	f.write(f.certificate, keyPair(t, "system:node:w1"))
	return f
}

func (f kubeletFiles) write(file, text string) {
	f.t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// kubeletConf returns a kubeconfig as kubeadm writes it for a kubelet.
func kubeletConf(server, certificate string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- {name: c, cluster: {server: %q, proxy-url: "http://proxy:3128"}}
users:
- {name: u, user: {client-certificate: %[2]q, client-key: %[2]q}}
contexts:
- {name: x, context: {cluster: c, user: u}}
current-context: x
`, server, certificate)
}

// keyPair returns a certificate for that name, and its key.
func keyPair(t *testing.T, name string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})) + string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// TestAccess checks with which files an agent begins, and that one sentence names the file that keeps it from that.
func TestAccess(t *testing.T) {
	for name, test := range map[string]struct {
		change func(kubeletFiles)
		want   []string // in the error; none: it begins
	}{
		"as kubeadm leaves them":           {func(kubeletFiles) {}, nil},
		"a certificate that has rotated":   {func(f kubeletFiles) { f.write(f.certificate, keyPair(t, "system:node:w1")) }, nil},
		"a relative path":                  {func(f kubeletFiles) { f.write(f.config, kubeletConf("https://a", filepath.Base(f.certificate))) }, nil},
		"no kubelet.conf":                  {func(f kubeletFiles) { _ = os.Remove(f.config) }, []string{"kubelet.conf: no such file"}},
		"an empty kubelet.conf":            {func(f kubeletFiles) { f.write(f.config, "\n") }, []string{"kubelet.conf is empty"}},
		"a kubelet.conf that is no YAML":   {func(f kubeletFiles) { f.write(f.config, "{") }, []string{"reading the kubelet's kubeconfig", "kubelet.conf"}},
		"a kubelet.conf without a context": {func(f kubeletFiles) { f.write(f.config, "apiVersion: v1\nkind: Config\n") }, []string{"kubelet.conf"}},
		"an administrator's certificate":   {func(f kubeletFiles) { f.write(f.certificate, keyPair(t, "kubernetes-super-admin")) }, []string{"kubelet.conf has the identity \"kubernetes-super-admin\", and not \"system:node:w1\" of this Node", "--client-name=system:node:w1"}},
		"another Node's certificate":       {func(f kubeletFiles) { f.write(f.certificate, keyPair(t, "system:node:w2")) }, []string{`"system:node:w2"`}},
		"an administrator's, within":       {func(f kubeletFiles) { f.write(f.config, within(t, f, "kubernetes-admin")) }, []string{"kubelet.conf has the identity \"kubernetes-admin\""}},
		"this Node's, within":              {func(f kubeletFiles) { f.write(f.config, within(t, f, "system:node:w1")) }, nil},
		"an empty certificate":             {func(f kubeletFiles) { f.write(f.certificate, "") }, []string{"kubelet-client-current.pem, which ", "is empty"}},
		"a certificate that is none":       {func(f kubeletFiles) { f.write(f.certificate, "x") }, []string{"kubelet-client-current.pem, which ", "cannot be used"}},
		"a certificate elsewhere":          {func(f kubeletFiles) { _ = os.Remove(f.certificate) }, []string{"kubelet-client-current.pem: no such file", "only /var/lib/kubelet/pki", "mount "}},
		"a certificate that has gone":      {func(f kubeletFiles) { f.write(f.config, kubeletConf("https://a", access.CertificateDir+"/gone.pem")) }, []string{access.CertificateDir + "/gone.pem: no such file"}},
		"a token, whose identity is hidden": {func(f kubeletFiles) {
			f.write(f.config, strings.Replace(kubeletConf("https://a", "x"), `{client-certificate: "x", client-key: "x"}`, "{token: t}", 1))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newKubeletFiles(t)
			test.change(f)
			a, err := readAccess(f.config, "w1")
			if (err == nil) != (test.want == nil) {
				t.Fatalf("got %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %q, want %q in one line", err, want)
				}
			}
			if err == nil && a.Config.Host == "" {
				t.Error("it has no address")
			}
		})
	}
}

// within returns a kubeconfig that has the certificate in itself.
func within(t *testing.T, f kubeletFiles, name string) string {
	t.Helper()
	data := base64.StdEncoding.EncodeToString([]byte(keyPair(t, name)))
	return strings.Replace(kubeletConf("https://a", f.certificate), fmt.Sprintf("{client-certificate: %[1]q, client-key: %[1]q}", f.certificate),
		fmt.Sprintf("{client-certificate-data: %[1]s, client-key-data: %[1]s}", data), 1)
}

// TestBothIdentitiesUseTheProxy checks that the ServiceAccount's requests go where the kubelet's go.
func TestBothIdentitiesUseTheProxy(t *testing.T) {
	f := newKubeletFiles(t)
	a, err := readAccess(f.config, "w1")
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]*rest.Config{"kubelet": a.Config, "account": a.ofAccount("/nowhere")} {
		proxy := &url.URL{}
		if config.Proxy != nil {
			proxy, err = config.Proxy(nil)
		}
		if err != nil || proxy.Host != "proxy:3128" {
			t.Errorf("%s: the proxy is %q, %v", name, proxy.Host, err)
		}
	}
}

// TestAccessIsWatched changes the files while an agent runs.
func TestAccessIsWatched(t *testing.T) {
	for name, test := range map[string]struct {
		change func(kubeletFiles)
		mend   func(kubeletFiles)
		silent bool // the API server does not answer
		want   string
	}{
		"nothing changes":                    {change: func(kubeletFiles) {}},
		"kubeadm writes the same":            {change: func(f kubeletFiles) { f.write(f.config, kubeletConf("https://10.0.0.1:6443", f.certificate)) }},
		"the certificate rotates":            {change: func(f kubeletFiles) { f.write(f.certificate, keyPair(t, "system:node:w1")) }},
		"the API server does not answer":     {change: func(kubeletFiles) {}, silent: true},
		"another address":                    {change: func(f kubeletFiles) { f.write(f.config, kubeletConf("https://10.0.0.2:6443", f.certificate)) }, want: "kubelet.conf was changed: the agent begins again with it"},
		"an administrator's certificate":     {change: func(f kubeletFiles) { f.write(f.certificate, keyPair(t, "kubernetes-admin")) }, want: `has the identity "kubernetes-admin"`},
		"the certificate is emptied":         {change: func(f kubeletFiles) { f.write(f.certificate, "") }, want: "is empty"},
		"the certificate is written in two":  {change: func(f kubeletFiles) { f.write(f.certificate, "") }, mend: func(f kubeletFiles) { f.write(f.certificate, keyPair(t, "system:node:w1")) }},
		"kubelet.conf is deleted":            {change: func(f kubeletFiles) { _ = os.Remove(f.config) }, want: "kubelet.conf: no such file"},
		"kubelet.conf is emptied for a time": {change: func(f kubeletFiles) { f.write(f.config, "") }, mend: func(f kubeletFiles) { f.write(f.config, kubeletConf("https://10.0.0.1:6443", f.certificate)) }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newKubeletFiles(t)
			a, err := readAccess(f.config, "w1")
			if err != nil {
				t.Fatal(err)
			}
			got := watched5Minutes(t, a, test.silent, func(at int) {
				if at == 2 {
					test.change(f)
				}
				if at == 3 && test.mend != nil {
					test.mend(f)
				}
			})
			if (got == nil) != (test.want == "") || got != nil && !strings.Contains(got.Error(), test.want) {
				t.Errorf("got %v, want %q", got, test.want)
			}
		})
	}
}

// TestReplacedFile checks that the agent goes on with a kubelet.conf that has no name any more, as a mount shows one
// that was replaced on the host, for as long as the API server answers.
func TestReplacedFile(t *testing.T) {
	f := newKubeletFiles(t)
	open, err := os.Open(f.config)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	a, err := readAccess(fmt.Sprintf("/proc/self/fd/%d", open.Fd()), "w1")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(f.config); err != nil {
		t.Fatal(err)
	}
	if got := watched5Minutes(t, a, false, func(int) {}); got != nil {
		t.Errorf("the API server answers: got %v", got)
	}
	if got := watched5Minutes(t, a, true, func(int) {}); got == nil || !strings.Contains(got.Error(), "was replaced on the host, and the API server does not answer at https://10.0.0.1:6443") {
		t.Errorf("the API server does not answer: got %v", got)
	}
}

// watched5Minutes returns what watch returns in five minutes. look is called before each look at the files.
func watched5Minutes(t *testing.T, a *ownAccess, silent bool, look func(number int)) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		go func() {
			time.Sleep(accessEvery / 2)
			for number := 1; ctx.Err() == nil; number++ {
				look(number)
				sleep(ctx, accessEvery)
			}
		}()
		err = a.watch(ctx, func(context.Context) bool { return !silent })
	})
	return err
}
