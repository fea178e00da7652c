package kube

import (
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// The scheme knows the kinds of Interface alone. Those packages' own AddToScheme would link
// all kinds of their groups.
var (
	scheme         = newScheme()
	codecs         = serializer.NewCodecFactory(scheme)
	parameterCodec = runtime.NewParameterCodec(scheme)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for group, kinds := range map[schema.GroupVersion][]runtime.Object{
		corev1.SchemeGroupVersion: {
			&corev1.Node{}, &corev1.NodeList{}, &corev1.Pod{}, &corev1.PodList{},
			&corev1.ConfigMap{}, &corev1.ConfigMapList{}, &corev1.Event{}, &corev1.EventList{},
		},
		appsv1.SchemeGroupVersion:         {&appsv1.DaemonSet{}, &appsv1.DaemonSetList{}},
		coordinationv1.SchemeGroupVersion: {&coordinationv1.Lease{}, &coordinationv1.LeaseList{}},
		policyv1.SchemeGroupVersion:       {&policyv1.Eviction{}},
	} {
		s.AddKnownTypes(group, kinds...)
		metav1.AddToGroupVersion(s, group)
	}
	return s
}
