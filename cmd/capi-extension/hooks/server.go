package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"k8s.io/utils/ptr"
	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
)

// timeoutSeconds is how long Cluster API waits for an answer.
const timeoutSeconds = 10

// Observe is told of each answer.
type Observe func(hook string, status runtimehooksv1.ResponseStatus, waits bool, took time.Duration)

// Server answers Cluster API's requests.
type Server struct {
	mux      http.ServeMux
	timeout  time.Duration
	observe  Observe
	log      *slog.Logger
	bodies   bodies
	handlers []runtimehooksv1.ExtensionHandler
}

// NewServer returns a server for all hooks of the extension. An answer takes timeout at most.
func NewServer(e *Extension, timeout time.Duration, observe Observe) (*Server, error) {
	catalog := runtimecatalog.New()
	if err := runtimehooksv1.AddToCatalog(catalog); err != nil {
		return nil, err
	}
	s := &Server{timeout: timeout, observe: observe, log: e.Log, bodies: newBodies()}
	for _, err := range []error{
		add(s, catalog, runtimehooksv1.CanUpdateMachine, "can-update-machine", readMachineChange, e.CanUpdateMachine),
		add(s, catalog, runtimehooksv1.CanUpdateMachineSet, "can-update-machine-set", readSetChange, e.CanUpdateMachineSet),
		add(s, catalog, runtimehooksv1.UpdateMachine, "update-machine", decode[updateRequest], e.UpdateMachine),
		add(s, catalog, runtimehooksv1.BeforeClusterUpgrade, "before-cluster-upgrade", decode[beforeRequest], e.BeforeClusterUpgrade),
		add(s, catalog, runtimehooksv1.BeforeControlPlaneUpgrade, "before-control-plane-upgrade", decode[beforeRequest], e.BeforeControlPlaneUpgrade),
		add(s, catalog, runtimehooksv1.BeforeWorkersUpgrade, "before-workers-upgrade", decode[beforeRequest], e.BeforeWorkersUpgrade),
		add(s, catalog, runtimehooksv1.Discovery, "", decode[struct{}], s.discover),
	} {
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

func (s *Server) discover(_ context.Context, _ *struct{}, response *runtimehooksv1.DiscoveryResponse) {
	response.Status = runtimehooksv1.ResponseStatusSuccess
	response.Handlers = slices.Clone(s.handlers)
}

// add serves a hook at the path that Cluster API gives it. read keeps of a request what is needed to answer.
func add[Request, Response any, P interface {
	*Response
	runtimehooksv1.ResponseObject
}](s *Server, catalog *runtimecatalog.Catalog, hook runtimecatalog.Hook, name string,
	read func([]byte) (*Request, error), answer func(context.Context, *Request, P)) error {
	gvh, err := catalog.GroupVersionHook(hook)
	if err != nil {
		return fmt.Errorf("looking for hook %s in Cluster API's catalog: %w", name, err)
	}
	response, err := catalog.Response(gvh)
	if err != nil {
		return fmt.Errorf("looking for the answer to hook %s in Cluster API's catalog: %w", name, err)
	}
	if name != "" {
		s.handlers = append(s.handlers, runtimehooksv1.ExtensionHandler{
			Name:           name,
			RequestHook:    runtimehooksv1.GroupVersionHook{APIVersion: gvh.GroupVersion().String(), Hook: gvh.Hook},
			TimeoutSeconds: ptr.To[int32](timeoutSeconds),
			FailurePolicy:  ptr.To(runtimehooksv1.FailurePolicyFail),
		})
	}
	s.mux.HandleFunc("POST "+runtimecatalog.GVHToPath(gvh, name), func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
		defer cancel()
		start := time.Now()
		into := P(new(Response))
		into.GetObjectKind().SetGroupVersionKind(response)
		var request *Request
		release, err := s.bodies.read(ctx, w, r, func(body []byte) (err error) { request, err = read(body); return err })
		defer release()
		if err != nil {
			into.SetStatus(runtimehooksv1.ResponseStatusFailure)
			into.SetMessage("the request cannot be read: " + err.Error())
		} else {
			answer(ctx, request, into)
		}
		retry, _ := any(into).(runtimehooksv1.RetryResponseObject)
		waits := retry != nil && retry.GetRetryAfterSeconds() > 0
		s.observe(gvh.Hook, into.GetStatus(), waits, time.Since(start))
		s.log.Debug("answered", "hook", gvh.Hook, "status", into.GetStatus(), "waits", waits, "message", into.GetMessage(), "took", time.Since(start))
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(into); err != nil {
			s.log.Debug("an answer is not read", "hook", gvh.Hook, "error", err)
		}
	})
	return nil
}
