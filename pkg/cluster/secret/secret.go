// Package secret reads the Secrets that the UpgradePolicy names, such as the address of a chat or
// the token of a Prometheus.
//
// It promises that a Secret is read in our namespace only, and by its name only, so that a Role
// with resourceNames is enough: by default the coordinator may read none. No error has anything of
// what a Secret contains, and each says what to do.
package secret

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// The reasons of a Problem.
const (
	ReasonForbidden  = "SecretForbidden"  // the coordinator has no right to read it
	ReasonNotFound   = "SecretNotFound"   // there is none of that name
	ReasonKeyMissing = "SecretKeyMissing" // it has no such key, or nothing in it
	ReasonUnreadable = "SecretUnreadable" // the API server did not answer
)

// Problem is why a Secret could not be read.
type Problem struct {
	Reason  string
	Message string
	// Fix is what solves it: a manifest for `kubectl apply -f -`, or a command. Empty: it may
	// pass by itself.
	Fix string
}

// Error returns the problem in one line.
func (p *Problem) Error() string { return p.Message }

// Explain returns the problem with what solves it, for a condition's message.
func (p *Problem) Explain() string {
	if p.Fix == "" {
		return p.Message
	}
	return p.Message + ":\n" + p.Fix
}

// Read returns the value of a key of a Secret in our namespace, without white space around it. The error is a *Problem.
func Read(ctx context.Context, secrets typedcorev1.SecretsGetter, ref v1alpha1.SecretKeyReference) (string, error) {
	name, key := ref.Name, ref.Key
	found, err := secrets.Secrets(v1alpha1.Namespace).Get(ctx, name, metav1.GetOptions{})
	full := v1alpha1.Namespace + "/" + name
	create := fmt.Sprintf("kubectl -n %s create secret generic %s --from-literal=%s=VALUE", v1alpha1.Namespace, name, key)
	switch {
	case apierrors.IsForbidden(err):
		return "", &Problem{ReasonForbidden,
			fmt.Sprintf("the coordinator may not read Secret %s: apply a Role that lets it (with Helm, add %q to the value secrets)", full, name), Grant(name)}
	case apierrors.IsNotFound(err):
		return "", &Problem{ReasonNotFound, fmt.Sprintf("Secret %s does not exist: create it with the key %s", full, key), create}
	case err != nil:
		return "", &Problem{Reason: ReasonUnreadable, Message: fmt.Sprintf("reading Secret %s: %v", full, err)}
	}
	value := strings.TrimSpace(string(found.Data[key]))
	if value == "" {
		return "", &Problem{ReasonKeyMissing, fmt.Sprintf("Secret %s has nothing in the key %s: create it again with that key", full, key), create}
	}
	return value, nil
}

// Grant returns the manifest of a Role and its RoleBinding that let the coordinator read one
// Secret.
func Grant(name string) string {
	return strings.NewReplacer("NAMESPACE", v1alpha1.Namespace, "SECRET", name).Replace(`apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: coordinator-secret-SECRET, namespace: NAMESPACE}
rules: [{apiGroups: [""], resources: [secrets], resourceNames: [SECRET], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: coordinator-secret-SECRET, namespace: NAMESPACE}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: coordinator-secret-SECRET}
subjects: [{kind: ServiceAccount, name: coordinator, namespace: NAMESPACE}]
`)
}
