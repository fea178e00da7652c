package sim

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// answers hands stored objects to a program's clients: the body of an answer is a number, and the clients'
// serializer copies the objects of that number. As JSON, answers took a sixth of the
// simulator's time. TestAgainstRealServer compares what these clients get.
type answers struct {
	runtime.NegotiatedSerializer
	last atomic.Int64
	open sync.Map // the objects of an answer that is not decoded yet, by its body
}

// answered are the objects of one answer.
type answered struct {
	resource string
	items    []*stored
	version  string // of a list
	bytes    func() []byte
}

var codecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return serializer.NewCodecFactory(scheme)
}()

func newAnswers() *answers { return &answers{NegotiatedSerializer: codecs.WithoutConversion()} }

// put returns the body of an answer with the objects.
func (a *answers) put(one answered) []byte {
	body := fmt.Sprintf("\x00%d", a.last.Add(1))
	a.open.Store(body, one)
	return []byte(body)
}

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (a *answers) SupportedMediaTypes() []runtime.SerializerInfo {
	list := slices.Clone(a.NegotiatedSerializer.SupportedMediaTypes())
	for i := range list {
		list[i].Serializer = answerSerializer{list[i].Serializer, a}
	}
	return list
}

type answerSerializer struct {
	runtime.Serializer
	answers *answers
}

// Decode implements runtime.Serializer.
func (s answerSerializer) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	found, ok := s.answers.open.LoadAndDelete(string(data))
	if !ok {
		return s.Serializer.Decode(data, defaults, into)
	}
	one := found.(answered)
	if into != nil && one.copyInto(into) {
		return into, defaults, nil
	}
	return s.Serializer.Decode(one.bytes(), defaults, into)
}

// copyInto copies the objects, if into is of their kind, or a list of it.
func (one answered) copyInto(into runtime.Object) bool {
	target := reflect.ValueOf(into).Elem()
	if one.version == "" {
		object := reflect.ValueOf(one.items[0].object(one.resource)).Elem()
		if object.Type() != target.Type() {
			return false
		}
		target.Set(reflect.ValueOf(one.items[0].object(one.resource).DeepCopyObject()).Elem())
		return true
	}
	items := target.FieldByName("Items")
	if !items.IsValid() || items.Type().Elem() != reflect.TypeOf(newObject(one.resource)).Elem() {
		return false
	}
	list := reflect.MakeSlice(items.Type(), len(one.items), len(one.items))
	for i, item := range one.items {
		list.Index(i).Set(reflect.ValueOf(item.object(one.resource).DeepCopyObject()).Elem())
	}
	items.Set(list)
	accessor, err := meta.ListAccessor(into)
	if err != nil {
		return false
	}
	accessor.SetResourceVersion(one.version)
	return true
}
