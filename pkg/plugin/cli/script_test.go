package cli_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/rogpeppe/go-internal/testscript"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/cli"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/apitest"
	"github.com/kubectl-upgrade/kubectl-upgrade/test/kubetest"
)

// withServer runs the tests with an API server.
type withServer struct{ *testing.M }

func (m withServer) Run() int { return apitest.Run(m.M) }

func TestMain(m *testing.M) {
	testscript.Main(withServer{m}, map[string]func(){"kubectl-upgrade": func() {
		klog.SetLogger(logr.Discard())
		streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		code := cli.Run(ctx, os.Args[1:], streams, "v0.0.0-test")
		stop()
		os.Exit(code)
	}, "kubectl-upgrade-crash": crash})
}

// TestScripts runs testdata/script/*.txtar, one after the other in the same cluster.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("listing the scripts: got %d, error %v", len(files), err)
	}
	kubectl := apitest.Path(t, "kubectl")
	config := apitest.Start(t)
	kubeconfig := apitest.Kubeconfig(t, config)
	images := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		names := []string{"v1.34.4-x86-64", "v1.34.5-x86-64", "v1.34.10-x86-64", "v1.35.0-arm64"}
		if strings.HasPrefix(r.URL.Path, "/more") {
			names = append(names, "v1.35.4-x86-64", "v1.35.5-arm64", "v1.35.6-rc.0-x86-64", "v1.38.0-x86-64", "v1.39.0-alpha.1-x86-64")
		}
		for _, name := range names {
			fmt.Fprintf(w, "%064d  kubernetes-%s.raw\n", 0, name)
		}
	}))
	defer images.Close()
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			apitest.InstallCRDs(t, config)
			removeObjects(t, config)
			testscript.Run(t, testscript.Params{
				Files: []string{file},
				Setup: func(env *testscript.Env) error {
					env.Setenv("KUBECONFIG", kubeconfig)
					env.Setenv("ADMIN", kubeconfig)
					env.Setenv("IMAGES", images.URL)
					env.Setenv("TZ", "Europe/Berlin")
					env.Setenv("HOME", env.WorkDir)
					env.Setenv("PATH", filepath.Dir(kubectl)+string(os.PathListSeparator)+env.Getenv("PATH"))
					return writePageFiles(filepath.Join(apitest.Root(t), "docs", strings.TrimSuffix(filepath.Base(file), ".txtar")+".md"), env.WorkDir)
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"objects": func(ts *testscript.TestScript, _ bool, args []string) {
						ts.Check(createObjects(config, ts.ReadFile(args[0])))
					},
				},
			})
		})
	}
}

var kinds = map[string]schema.GroupVersionResource{
	"Node":                {Version: "v1", Resource: "nodes"},
	"Pod":                 {Version: "v1", Resource: "pods"},
	"MaintenanceSchedule": v1alpha1.MaintenanceSchedules,
	"UpgradePolicy":       v1alpha1.UpgradePolicies,
	"ClusterUpgrade":      v1alpha1.ClusterUpgrades,
	"NodeUpgrade":         v1alpha1.NodeUpgrades,
	"UpgradeRecord":       v1alpha1.UpgradeRecords,
	"NodeInventory":       v1alpha1.NodeInventories,
	"CoordinatorState":    v1alpha1.CoordinatorStates,
}

// removeObjects removes what tests have made, and makes what kubeadm leaves in a cluster.
func removeObjects(t *testing.T, config *rest.Config) {
	t.Helper()
	client := dynamic.NewForConfigOrDie(config)
	for kind, resource := range kinds {
		namespaces := []string{metav1.NamespaceAll}
		if kind == "Pod" {
			namespaces = []string{metav1.NamespaceSystem, v1alpha1.Namespace}
		}
		for _, namespace := range namespaces {
			err := client.Resource(resource).Namespace(namespace).DeleteCollection(context.Background(), *metav1.NewDeleteOptions(0), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("removing every %s: %v", kind, err)
			}
		}
	}
	kube := kubernetes.NewForConfigOrDie(config)
	ctx, all := context.Background(), metav1.ListOptions{}
	unlabel := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":null}}}`)
	_, err := kube.CoreV1().Namespaces().Patch(ctx, v1alpha1.Namespace, types.MergePatchType, unlabel, metav1.PatchOptions{})
	err = errors.Join(ignoreNotFound(err),
		kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().DeleteCollection(ctx, metav1.DeleteOptions{}, all),
		kube.AppsV1().DaemonSets(v1alpha1.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, all),
		kubetest.MakeKubeadmObjects(ctx, kube))
	if err != nil {
		t.Fatal(err)
	}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// uidOf matches UID(NAME), which stands for the UID of that ClusterUpgrade.
var uidOf = regexp.MustCompile(`UID\((.+?)\)`)

// createObjects applies the objects in YAML with their status.
func createObjects(config *rest.Config, text string) error {
	client := dynamic.NewForConfigOrDie(config)
	options := metav1.ApplyOptions{FieldManager: "test", Force: true}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		document = uidOf.ReplaceAllFunc(document, func(word []byte) []byte {
			name := string(uidOf.FindSubmatch(word)[1])
			upgrade, problem := client.Resource(v1alpha1.ClusterUpgrades).Get(context.Background(), name, metav1.GetOptions{})
			if err = problem; err != nil {
				return word
			}
			return []byte(upgrade.GetUID())
		})
		u := &unstructured.Unstructured{}
		if err := errors.Join(err, yaml.Unmarshal(document, &u.Object)); err != nil {
			return err
		}
		u.SetAPIVersion(v1alpha1.GroupVersion.String())
		if kinds[u.GetKind()].Group == "" {
			u.SetAPIVersion("v1")
		}
		resource := client.Resource(kinds[u.GetKind()]).Namespace(u.GetNamespace())
		if _, err := resource.Apply(context.Background(), u.GetName(), u, options); err != nil {
			return err
		}
		if u.Object["status"] == nil {
			continue
		}
		if _, err := resource.ApplyStatus(context.Background(), u.GetName(), u, options); err != nil {
			return err
		}
	}
}
