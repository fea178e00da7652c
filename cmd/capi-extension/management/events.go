package management

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// component is the source of the events.
const component = "kubectl-upgrade-capi-extension"

// Event is what happened to a machine.
type Event struct {
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type, Reason, Message string
}

// longestMessage is the longest message that the API server takes.
const longestMessage = 1024

// Record writes an event for each object. Its name follows from what it says, so that neither another
// call nor the other replica says the same again while the API server keeps it, for an hour.
func Record(ctx context.Context, c client.Client, event Event, at time.Time, about ...client.Object) error {
	for _, object := range about {
		kind, err := apiutil.GVKForObject(object, c.Scheme())
		if err != nil {
			return err
		}
		hash := sha256.Sum256([]byte(strings.Join([]string{string(object.GetUID()), event.Reason, event.Message}, "\n")))
		message := strings.ToValidUTF8(event.Message[:min(len(event.Message), longestMessage)], "")
		host, _ := os.Hostname()
		stamp := metav1.NewTime(at)
		err = c.Create(ctx, &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName() + "." + hex.EncodeToString(hash[:8])},
			InvolvedObject: corev1.ObjectReference{
				APIVersion: kind.GroupVersion().String(), Kind: kind.Kind,
				Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
			},
			Type: event.Type, Reason: event.Reason, Message: message,
			Source: corev1.EventSource{Component: component}, ReportingController: component, ReportingInstance: host,
			FirstTimestamp: stamp, LastTimestamp: stamp, Count: 1,
		})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("writing an event of %s %s/%s: %w", kind.Kind, object.GetNamespace(), object.GetName(), err)
		}
	}
	return nil
}
