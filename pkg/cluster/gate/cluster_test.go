package gate_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/kube"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
)

// TestCluster follows a real API server with the rights of the ClusterRole and the Role
// kubectl-upgrade-follow, and no others.
func TestCluster(t *testing.T) {
	config := apitest.Start(t)
	apitest.InstallCRDs(t, config)
	admin := kubernetes.NewForConfigOrDie(config)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"namespace.yaml", "people/follow.yaml"} {
		if out, err := apitest.Kubectl(t, config, "apply", "-f", apitest.Root(t)+"/manifests/"+file).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	_, err := admin.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "prod"}}, metav1.CreateOptions{})
	must(err)
	subject := []rbacv1.Subject{{Kind: "ServiceAccount", Name: "prod", Namespace: "default"}}
	_, err = admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "prod"}, Subjects: subject, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "kubectl-upgrade-follow"}}, metav1.CreateOptions{})
	must(err)
	_, err = admin.RbacV1().RoleBindings(v1alpha1.Namespace).Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "prod"}, Subjects: subject, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "kubectl-upgrade-follow"}}, metav1.CreateOptions{})
	must(err)
	token, err := admin.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "prod", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(err)
	authority, err := os.ReadFile(config.CAFile)
	must(err)
	file := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"staging": {Server: config.Host, CertificateAuthorityData: authority}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"prod": {Token: token.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"staging": {Cluster: "staging", AuthInfo: "prod"}},
		CurrentContext: "staging",
	}
	text, err := clientcmd.Write(file)
	must(err)
	secrets := map[string]string{"good": string(text), "none": "a: b: c", "empty": "apiVersion: v1\nkind: Config"}
	for name, change := range refusedKubeconfigs {
		one := *file.DeepCopy()
		change(one.Clusters["staging"], one.AuthInfos["prod"])
		changed, err := clientcmd.Write(one)
		must(err)
		secrets[name] = string(changed)
	}
	for name, value := range secrets {
		_, err := admin.CoreV1().Secrets(v1alpha1.Namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"kubeconfig": value}}, metav1.CreateOptions{})
		must(err)
	}
	clients := newClients(t, config)
	follows := func(name string) v1alpha1.Gate {
		return v1alpha1.Gate{Name: "staging", TimeoutSeconds: 5, Cluster: &v1alpha1.ClusterGate{KubeconfigSecretRef: v1alpha1.SecretKeyReference{Name: name}}}
	}
	for name := range refusedKubeconfigs {
		answer := clients.Ask(t.Context(), follows(name))
		if answer.State != v1alpha1.GateUnknown || !strings.Contains(answer.Message, words[name]) || strings.Contains(answer.Message, token.Status.Token) {
			t.Errorf("%s: %+v", name, answer)
		}
	}
	check(t, clients, follows("none"), v1alpha1.GateUnknown, "it is no kubeconfig")
	check(t, clients, follows("empty"), v1alpha1.GateUnknown, "it has no current context")
	check(t, clients, follows("missing"), v1alpha1.GateUnknown, "does not exist")
	check(t, clients, follows("good"), v1alpha1.GateUnknown, `upgradepolicies.kubectl-upgrade.dev "cluster" not found`)

	kinds, err := kube.NewKinds(config)
	must(err)
	_, err = kinds.UpgradePolicies.Create(t.Context(), &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}}, metav1.CreateOptions{})
	must(err)
	check(t, clients, follows("good"), v1alpha1.GateUnknown, `leases.coordination.k8s.io "coordinator" not found`)
	renewed := metav1.NewMicroTime(time.Now().Add(-2 * time.Minute))
	lease, err := admin.CoordinationV1().Leases(v1alpha1.Namespace).Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "coordinator"}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}}, metav1.CreateOptions{})
	must(err)
	check(t, clients, follows("good"), v1alpha1.GateUnknown, "no coordinator leads there")
	renewed = metav1.NewMicroTime(time.Now())
	lease.Spec.RenewTime = &renewed
	_, err = admin.CoordinationV1().Leases(v1alpha1.Namespace).Update(t.Context(), lease, metav1.UpdateOptions{})
	must(err)
	check(t, clients, follows("good"), v1alpha1.GateOpen, "has run nothing")
	ran := v1alpha1.RanVersion{Version: "v1.34.5", Upgrade: v1alpha1.UpgradeReference{Name: "u", UID: "uid"}, Digests: []v1alpha1.ImageDigest{{Architecture: "amd64", Digest: v1alpha1.DigestOf(strings.Repeat("a", 64))}}}
	_, err = kinds.UpgradePolicies.Apply(t.Context(), &v1alpha1.UpgradePolicy{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyName}, Status: v1alpha1.UpgradePolicyStatus{RememberedState: v1alpha1.RememberedState{Ran: []v1alpha1.RanVersion{ran}}}}, "test", "status")
	must(err)
	answer := clients.Ask(t.Context(), follows("good"))
	if answer.State != v1alpha1.GateOpen || len(answer.Ran) != 1 || fmt.Sprint(answer.Ran[0]) != fmt.Sprint(ran) {
		t.Errorf("what it has run: %+v", answer)
	}
}

// refusedKubeconfigs are changes for which a kubeconfig is refused, and words what the refusal says.
var refusedKubeconfigs = map[string]func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo){
	"http": func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "http://127.0.0.1" },
	"insecure": func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		c.InsecureSkipTLSVerify, c.CertificateAuthorityData = true, nil
	},
	"proxy":      func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.ProxyURL = "http://127.0.0.1:1" },
	"ca-file":    func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.CertificateAuthority = "/etc/passwd" },
	"no-ca":      func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.CertificateAuthorityData = nil },
	"token-file": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.TokenFile = "/var/run/secrets/token" },
	"exec": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
		u.Exec = &clientcmdapi.ExecConfig{Command: "sh"}
	},
	"plugin": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
		u.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "x"}
	},
	"user":        func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.Username, u.Password = "a", "b" },
	"impersonate": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.Impersonate = "system:admin" },
	"nothing":     func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.Token = "" },
}

var words = map[string]string{
	"http": "no https address", "insecure": "insecure-skip-tls-verify is refused", "proxy": "proxy-url is refused", "ca-file": "it names a file",
	"no-ca": "no certificate-authority-data", "token-file": "it names a file", "exec": "a program or a plugin", "plugin": "a program or a plugin",
	"user": "user names and impersonation", "impersonate": "user names and impersonation", "nothing": "neither a token nor a client certificate",
}
