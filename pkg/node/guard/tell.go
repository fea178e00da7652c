package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// Where no kubelet runs, no agent does, and only the guard can say why. It writes that on its
// Node, as the kubelet. Nothing waits for it: without network it is repeated.

// tellPause is the pause before a report that could not be written is repeated.
const tellPause = 10 * time.Second

// news returns what the guard has to say of a node that may have no agent. Empty: nothing.
func (g *guardian) news(verdict Verdict, why string) string {
	o := g.seen
	failed := o.Tried.Merge && o.Merged != g.record.To || o.Tried.Kubelet != "" && o.Health.Kubelet != ""
	switch {
	case o.Returning: // what began was told
	case verdict == Return:
		return fmt.Sprintf("it returns the node to %s: %s", g.record.From, why)
	case verdict == Watch && failed:
		return fmt.Sprintf("%s; it returns the node to %s if that lasts", why, g.record.From)
	}
	return ""
}

// tell writes news on the Node, unless that is written already or has just failed, and reports
// whether it is written.
func (g *guardian) tell(ctx context.Context, news string) bool {
	now := g.sinceBoot()
	if news == "" || news == g.told || g.tellAfter > now {
		return news == g.told
	}
	report := clusterstate.GuardReport{Upgrade: g.record.Upgrade, Time: time.Now().UTC().Truncate(time.Second), Message: news}
	if err := g.annotate(ctx, report.String()); err != nil {
		if g.tellAfter == 0 {
			g.log.Printf("writing the cause on the Node: %v; it is repeated", err)
		}
		g.tellAfter = now + tellPause
		return false
	}
	g.told, g.tellAfter = news, 0
	return true
}

// tellAtLast writes why the node was not returned, however long that takes: no other program can. It ends
// if another activation was armed, which the next process guards.
func (g *guardian) tellAtLast(ctx context.Context, why string) error {
	if r, err := g.Rollback(); err == nil && host.IsRollbackOf(r, g.record) {
		why = r.Message
	}
	news := "it has ended, and a person has to repair the node: " + why
	for ctx.Err() == nil && !g.tell(ctx, news) {
		if armed, err := g.GuardArmed(); err == nil && armed {
			return errors.New("another activation was armed")
		}
		select {
		case <-ctx.Done():
		case <-time.After(g.pause):
		}
	}
	return nil
}

// annotate writes v1alpha1.GuardAnnotation on the kubelet's own Node with the kubelet's identity,
// which may write no other. A Node that was deleted needs no report.
func annotate(l host.Layout) func(ctx context.Context, value string) error {
	return func(ctx context.Context, value string) error {
		config, err := clientcmd.BuildConfigFromFlags("", l.At(host.KubeletAccess))
		if err != nil {
			return err
		}
		nodes, name, err := ownNode(config)
		if err != nil {
			return err
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{v1alpha1.GuardAnnotation: value}}})
		if err != nil {
			return err
		}
		_, err = nodes.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: UserAgent})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
}
