package gate

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/web"
)

// Answer is what a gate's question was answered with.
type Answer struct {
	State   v1alpha1.GateState
	Message string
	Ran     []v1alpha1.RanVersion // of a cluster that is followed
}

func open(format string, args ...any) Answer {
	return Answer{State: v1alpha1.GateOpen, Message: fmt.Sprintf(format, args...)}
}

func closed(format string, args ...any) Answer {
	return Answer{State: v1alpha1.GateClosed, Message: fmt.Sprintf(format, args...)}
}

func unknown(format string, args ...any) Answer {
	return Answer{State: v1alpha1.GateUnknown, Message: fmt.Sprintf(format, args...)}
}

// Clients are what gates are asked with.
type Clients struct {
	// Objects reads objects of the API server at the address Server, and Mapper finds their resources.
	Objects *http.Client
	Server  *url.URL
	Mapper  meta.ResettableRESTMapper
	// Secrets reads those that gates name.
	Secrets typedcorev1.SecretsGetter
}

// NewClients returns the clients of the coordinator's account.
func NewClients(access *rest.Config, secrets typedcorev1.SecretsGetter) (Clients, error) {
	objects, err := rest.HTTPClientFor(access)
	if err != nil {
		return Clients{}, fmt.Errorf("making a client of the objects of gates: %w", err)
	}
	objects.CheckRedirect = web.RefuseRedirect
	server, _, err := rest.DefaultServerUrlFor(access)
	if err != nil {
		return Clients{}, fmt.Errorf("making a client of the objects of gates: %w", err)
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(access)
	if err != nil {
		return Clients{}, fmt.Errorf("making a client of the kinds of gates: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoverer))
	return Clients{Objects: objects, Server: server, Mapper: mapper, Secrets: secrets}, nil
}

// Ask asks a gate.
func (c Clients) Ask(ctx context.Context, g v1alpha1.Gate) Answer {
	timeout := time.Duration(g.TimeoutSeconds) * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var answer Answer
	switch {
	case g.Prometheus != nil:
		answer = c.askPrometheus(ctx, *g.Prometheus)
	case g.Object != nil:
		answer = c.askObjects(ctx, *g.Object)
	case g.Cluster != nil:
		answer = c.askCluster(ctx, *g.Cluster)
	default:
		answer = unknown("it has no question that this version of the coordinator knows")
	}
	if answer.State == v1alpha1.GateUnknown && ctx.Err() != nil {
		answer = unknown("no answer within %s", timeout)
	}
	answer.Message = oneLine(answer.Message)
	return answer
}

// maxMessage is the longest message, in bytes. The API takes 1024.
const maxMessage = 512

// oneLine returns the text as one line of at most maxMessage bytes.
func oneLine(text string) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "?")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage-3], "") + "..."
	}
	return text
}

// Check returns the first error in the gates, other than those that the API server finds.
func Check(gates []v1alpha1.Gate) error {
	for _, g := range gates {
		if g.Object == nil {
			continue
		}
		if _, err := compiled(g.Object.Condition); err != nil {
			return fmt.Errorf("spec.gates[%s].object.condition: %w", g.Name, err)
		}
		if g.Object.Selector != nil {
			if _, err := g.Object.Selector.AsSelector(); err != nil {
				return fmt.Errorf("spec.gates[%s].object.selector: %w", g.Name, err)
			}
		}
	}
	return nil
}
