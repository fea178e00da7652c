package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// events is a record.EventSink.
type events struct{ client rest.Interface }

func (e events) Create(event *corev1.Event) (*corev1.Event, error) {
	return e.send(e.client.Post(), event.Namespace, event)
}

func (e events) Update(event *corev1.Event) (*corev1.Event, error) {
	return e.send(e.client.Put().Name(event.Name), event.Namespace, event)
}

func (e events) Patch(event *corev1.Event, data []byte) (*corev1.Event, error) {
	return e.send(e.client.Patch(types.StrategicMergePatchType).Name(event.Name), event.Namespace, data)
}

func (events) send(request *rest.Request, namespace string, body any) (*corev1.Event, error) {
	answer := &corev1.Event{}
	err := request.Namespace(namespace).Resource("events").Body(body).Do(context.Background()).Into(answer)
	return answer, err
}
