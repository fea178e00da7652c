package rights_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	jsonmergepatch "gopkg.in/evanphx/json-patch.v4"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// identity is a user of the API server.
type identity struct {
	name   string
	host   string
	client *http.Client
	admin  *identity // reads what is then changed
}

func newIdentity(t *testing.T, name string, config *rest.Config, admin *identity) *identity {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	i := &identity{name: name, host: config.Host, client: client, admin: admin}
	if admin == nil {
		i.admin = i
	}
	return i
}

func administrator(t *testing.T, config *rest.Config) *identity {
	return newIdentity(t, "administrator", config, nil)
}

// account returns an identity with a token that was stolen from a pod. The token is bound to the
// pod and its node.
func account(t *testing.T, config *rest.Config, name, serviceAccount, pod string) *identity {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(config)
	p, err := client.CoreV1().Pods("kubectl-upgrade").Get(t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod, UID: p.UID},
	}}
	token, err := client.CoreV1().ServiceAccounts("kubectl-upgrade").CreateToken(t.Context(), serviceAccount, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stolen := rest.AnonymousClientConfig(config)
	stolen.BearerToken = token.Status.Token
	return newIdentity(t, name, stolen, administrator(t, config))
}

// agent returns the identity of worker-1's agent.
func agent(t *testing.T, config *rest.Config) *identity {
	return account(t, config, "agent", "node-agent", "agent-worker-1")
}

func coordinator(t *testing.T, config *rest.Config) *identity {
	return account(t, config, "coordinator", "coordinator", coordinatorPod)
}

const (
	coordinatorAccount = "system:serviceaccount:kubectl-upgrade:coordinator"
	coordinatorPod     = "coordinator-5d9c7b6f4-x2x7k"
)

// kubernetesEditor returns a ServiceAccount with Kubernetes' own ClusterRole edit in the whole
// cluster. edit itself is empty here: a controller that does not run fills it from this one.
func kubernetesEditor(t *testing.T, config *rest.Config) *identity {
	return newIdentity(t, "Kubernetes' edit", editorConfig(t, config), administrator(t, config))
}

// editorConfig returns the configuration of a client with its token.
func editorConfig(t *testing.T, config *rest.Config) *rest.Config {
	t.Helper()
	const name = "an-editor"
	client := kubernetes.NewForConfigOrDie(config)
	_, err := client.CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for _, role := range []string{"system:aggregate-to-view", "system:aggregate-to-edit"} {
		_, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name + ":" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: name}},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	token, err := client.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	theirs := rest.AnonymousClientConfig(config)
	theirs.BearerToken = token.Status.Token
	return theirs
}

// kubelet returns the identity of a node's kubelet.
func kubelet(t *testing.T, config *rest.Config, node string) *identity {
	return as(t, config, "kubelet", "system:node:"+node, "system:nodes")
}

// person returns a user with one ClusterRole in the whole cluster.
func person(t *testing.T, config *rest.Config, role string) *identity {
	t.Helper()
	_, err := kubernetes.NewForConfigOrDie(config).RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "a-person-with-" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "a-person-with-" + role}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return as(t, config, strings.TrimPrefix(role, "kubectl-upgrade-"), "a-person-with-"+role)
}

func as(t *testing.T, config *rest.Config, name, user string, groups ...string) *identity {
	t.Helper()
	theirs := rest.CopyConfig(config)
	theirs.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	return newIdentity(t, name, theirs, administrator(t, config))
}

// try is one request. Writes are dry runs: authorization and admission answer as usual, and
// nothing changes for the next request.
type try struct {
	what string
	// do is a method; or EDIT: read it, change it and PUT it back; or MAY: ask the
	// API server, as a user that is impersonated impersonates no other.
	do   string
	at   string // the path, with its query
	with string // the body of a POST or PUT, or a merge patch
	// anyAnswer: there is no kubelet or scheduler to go on with what was allowed.
	anyAnswer bool
	// never: not even an administrator may.
	never bool
}

// answer is the result of a try.
type answer struct {
	answer  string
	message string
}

const (
	allowed  = "yes"
	noRight  = "no"           // RBAC, or the node authorizer
	byPolicy = "no, policy"   // one of ours
	byPlugin = "no, built-in" // NodeRestriction, or the schema
)

// try makes the request and returns the API server's answer.
func (i *identity) try(t *testing.T, r try) answer {
	t.Helper()
	method, body := r.do, r.with
	switch method {
	case "EDIT":
		method, body = http.MethodPut, i.admin.changed(t, r)
	case "MAY":
		return i.may(t, r)
	}
	if r.at == hookJobs {
		body = strings.Replace(body, `"UID"`, fmt.Sprintf("%q", i.admin.uidOfOwner(t, body)), 1)
	}
	code, message := i.send(t, method, r, body)
	switch {
	case code < 300:
		return answer{answer: allowed}
	case code == http.StatusForbidden && strings.Contains(message, "ValidatingAdmissionPolicy 'kubectl-upgrade-"):
		return answer{byPolicy, message}
	case code == http.StatusForbidden && strings.Contains(message, " cannot "):
		return answer{noRight, message}
	case code == http.StatusForbidden, r.never && code == http.StatusUnprocessableEntity:
		return answer{byPlugin, message}
	case r.anyAnswer:
		return answer{answer: allowed}
	}
	t.Fatalf("%s: %s %s: %d: %s", i.name, method, r.at, code, message)
	return answer{}
}

// uidOfOwner returns the UID of the CronJob that a Job is of.
func (i *identity) uidOfOwner(t *testing.T, job string) string {
	t.Helper()
	var object struct{ Metadata metav1.ObjectMeta }
	_ = json.Unmarshal([]byte(job), &object)
	if len(object.Metadata.OwnerReferences) == 0 {
		return ""
	}
	code, text := i.send(t, http.MethodGet, try{at: "/apis/batch/v1/namespaces/kubectl-upgrade-hooks/cronjobs/" + object.Metadata.OwnerReferences[0].Name}, "")
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%d: %v: %s", code, err, text)
	}
	return string(object.Metadata.UID)
}

func (i *identity) send(t *testing.T, method string, r try, body string) (code int, message string) {
	t.Helper()
	url := i.host + r.at
	if method != http.MethodGet {
		separator := "?"
		if strings.Contains(url, "?") {
			separator = "&"
		}
		url += separator + "dryRun=All"
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	switch {
	case strings.Contains(r.at, "fieldManager="):
		request.Header.Set("Content-Type", "application/apply-patch+yaml")
	case method == http.MethodPatch:
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := i.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var status metav1.Status
	if json.Unmarshal(text, &status) == nil && status.Message != "" {
		return response.StatusCode, status.Message
	}
	return response.StatusCode, string(bytes.TrimSpace(text))
}

// changed returns the object as it would be after the merge patch.
func (i *identity) changed(t *testing.T, r try) string {
	t.Helper()
	code, text := i.send(t, http.MethodGet, try{at: r.at}, "")
	if code != http.StatusOK {
		t.Fatalf("reading %s: %s", r.at, text)
	}
	merged, err := jsonmergepatch.MergePatch([]byte(text), []byte(r.with))
	if err != nil {
		t.Fatal(err)
	}
	return string(merged)
}

func (i *identity) may(t *testing.T, r try) answer {
	t.Helper()
	code, text := i.send(t, http.MethodPost, r, r.with)
	var review authorizationv1.SelfSubjectAccessReview
	if err := json.Unmarshal([]byte(text), &review); err != nil || code != http.StatusCreated {
		t.Fatalf("%s: %s: %d: %s", i.name, r.what, code, text)
	}
	if review.Status.Allowed {
		return answer{answer: allowed}
	}
	return answer{answer: noRight}
}
