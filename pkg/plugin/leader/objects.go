package leader

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/secret"
)

// Labels and annotations of what a Link makes.
const (
	followerLabel   = v1alpha1.Group + "/follower"      // in the leader: the UID of the cluster that follows
	leaderLabel     = v1alpha1.Group + "/leader"        // in the follower: the UID of the cluster that it follows
	nameAnnotation  = v1alpha1.Group + "/context"       // the other cluster's context, for people
	untilAnnotation = v1alpha1.Group + "/token-expires" // of the Secret
)

// account returns the name of the follower's ServiceAccount in the leader, and of its bindings.
func (l *Link) account() string { return "follower-" + l.Follower.UID[:min(8, len(l.Follower.UID))] }

// inLeader returns what the leader has: an identity that may read what it has run.
func (l *Link) inLeader() []*unstructured.Unstructured {
	return l.objects(`apiVersion: v1
kind: ServiceAccount
metadata: {name: ACCOUNT, namespace: NAMESPACE, labels: {FOLLOWER: UID}, annotations: {CONTEXT: NAME}}
automountServiceAccountToken: false
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kubectl-upgrade-ACCOUNT, labels: {FOLLOWER: UID}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: kubectl-upgrade-follow}
subjects: [{kind: ServiceAccount, name: ACCOUNT, namespace: NAMESPACE}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ACCOUNT, namespace: NAMESPACE, labels: {FOLLOWER: UID}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: kubectl-upgrade-follow}
subjects: [{kind: ServiceAccount, name: ACCOUNT, namespace: NAMESPACE}]
`, "ACCOUNT", l.account(), "FOLLOWER", followerLabel, "UID", quoted(l.Follower.UID), "CONTEXT", nameAnnotation, "NAME", quoted(l.Follower.Name))
}

// grants returns what lets the follower's coordinator read the Secret.
func (l *Link) grants() []*unstructured.Unstructured {
	return l.objects(secret.Grant(l.Name))
}

// secretWith returns the Secret with a kubeconfig that has the token.
func (l *Link) secretWith(token string, expires time.Time) (*unstructured.Unstructured, error) {
	file := clientcmdapi.NewConfig()
	file.Clusters[l.Leader.Name] = &clientcmdapi.Cluster{Server: l.Server, CertificateAuthorityData: l.Authority, TLSServerName: l.ServerName}
	file.AuthInfos[l.account()] = &clientcmdapi.AuthInfo{Token: token}
	file.Contexts[l.Leader.Name] = &clientcmdapi.Context{Cluster: l.Leader.Name, AuthInfo: l.account()}
	file.CurrentContext = l.Leader.Name
	text, err := clientcmd.Write(*file)
	if err != nil {
		return nil, fmt.Errorf("writing a kubeconfig: %w", err)
	}
	object := l.objects(`apiVersion: v1
kind: Secret
metadata: {name: SECRET, namespace: NAMESPACE, labels: {LEADER: UID}, annotations: {CONTEXT: NAME, UNTIL: EXPIRES}}
type: Opaque
`, "SECRET", l.Name, "LEADER", leaderLabel, "UID", quoted(l.Leader.UID), "CONTEXT", nameAnnotation, "NAME", quoted(l.Leader.Name),
		"UNTIL", untilAnnotation, "EXPIRES", quoted(expires.UTC().Format(time.RFC3339)))[0]
	object.Object["data"] = map[string]any{v1alpha1.KubeconfigKey: base64.StdEncoding.EncodeToString(text)}
	return object, nil
}

// gate returns the gate of the follower's UpgradePolicy.
func (l *Link) gate() v1alpha1.Gate {
	cluster := &v1alpha1.ClusterGate{KubeconfigSecretRef: v1alpha1.SecretKeyReference{Name: l.Name}, SoakSeconds: int32(l.Soak.Seconds())}
	if l.AnyDigests {
		same := false
		cluster.SameDigests = &same
	}
	return v1alpha1.Gate{Name: l.Name, Cluster: cluster}
}

// policy returns an UpgradePolicy that has nothing but the gate.
func (l *Link) policy() map[string]any {
	cluster := map[string]any{"kubeconfigSecretRef": map[string]any{"name": l.Name}, "soakSeconds": int64(l.Soak.Seconds())}
	if l.AnyDigests {
		cluster["sameDigests"] = false
	}
	return map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "UpgradePolicy",
		"metadata": map[string]any{"name": v1alpha1.PolicyName},
		"spec":     map[string]any{"gates": []any{map[string]any{"name": l.Name, "cluster": cluster}}},
	}
}

// objects returns the objects of a text in which words are replaced.
func (l *Link) objects(text string, words ...string) (all []*unstructured.Unstructured) {
	text = strings.NewReplacer(append([]string{"NAMESPACE", v1alpha1.Namespace}, words...)...).Replace(text)
	for document := range strings.SplitSeq(text, "---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			panic(fmt.Sprintf("%v in %s", err, document)) // the texts are constants, and the words are quoted
		}
		all = append(all, object)
	}
	return all
}

// quoted returns the text as a string of YAML.
func quoted(text string) string {
	out, _ := json.Marshal(text) // no string is refused
	return string(out)
}

// FollowerSelector selects what the leader has for the follower.
func (l *Link) FollowerSelector() string { return followerLabel + "=" + l.Follower.UID }

// Manifests returns the objects for Git, as yaml or json. The Secret is not among them, as its token
// is made by a request.
func (l *Link) Manifests(format string) ([]byte, error) {
	follower := []any{l.policy()}
	for _, object := range l.grants() {
		follower = append(follower, object.Object)
	}
	var inLeader []any
	for _, object := range l.inLeader() {
		inLeader = append(inLeader, object.Object)
	}
	if format == "json" {
		return json.MarshalIndent(map[string]any{"apiVersion": "v1", "kind": "List", "items": append(inLeader, follower...)}, "", "    ")
	}
	var text strings.Builder
	write := func(heading string, all []any) error {
		for i, object := range all {
			one, err := yaml.Marshal(object)
			if err != nil {
				return err
			}
			if text.Len() > 0 {
				text.WriteString("---\n")
			}
			if i == 0 {
				text.WriteString(heading)
			}
			text.Write(one)
		}
		return nil
	}
	err := write(fmt.Sprintf("# In the leader, %s:\n", l.Leader.Name), inLeader)
	if err == nil {
		heading := fmt.Sprintf("# In %s. Add the gate to the UpgradePolicy that is there. Secret %s, which has a token,\n# is made by the same command without --dry-run.\n",
			l.Follower.Name, l.Name)
		err = write(heading, follower)
	}
	return []byte(text.String()), err
}
