package apitest

import (
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes config as a kubeconfig file and returns its path.
func Kubeconfig(t testing.TB, config *rest.Config) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{"apitest": {Server: config.Host, CertificateAuthority: config.CAFile}},
		AuthInfos:      map[string]*api.AuthInfo{"admin": {Token: config.BearerToken}},
		Contexts:       map[string]*api.Context{"apitest": {Cluster: "apitest", AuthInfo: "admin"}},
		CurrentContext: "apitest",
	}, file)
	if err != nil {
		t.Fatalf("writing a kubeconfig: %v", err)
	}
	return file
}

// Kubectl returns a kubectl for the server, not started yet.
func Kubectl(t testing.TB, config *rest.Config, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), Path(t, "kubectl"), append([]string{"--kubeconfig=" + Kubeconfig(t, config), "--cache-dir=" + t.TempDir()}, args...)...)
}
