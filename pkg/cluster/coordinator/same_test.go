package coordinator

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// TestSameOrder checks that a change of any field of an order is seen.
func TestSameOrder(t *testing.T) {
	checkSame(t, sameOrder)
}

// TestSameCondition checks that a change of any field of a condition is seen.
func TestSameCondition(t *testing.T) {
	checkSame(t, func(a, b *metav1.Condition) bool { return sameCondition(*a, *b) })
}

// TestSameAdmitted checks that a change of the condition, and of when its reason ends, is seen.
func TestSameAdmitted(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	at := func(after time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(after)} }
	waits, released := &metav1.Condition{Reason: "Waits"}, &metav1.Condition{Reason: "Released"}
	parts := []admitted{{}, {waits, nil}, {released, nil}, {nil, at(0)}, {waits, at(0)}, {waits, at(time.Second)}}
	for i, a := range parts {
		for j, b := range parts {
			if got := sameAdmitted(a, b); got != (i == j) {
				t.Errorf("%d and %d: %t", i, j, got)
			}
		}
	}
	elsewhere := metav1.Time{Time: now.In(time.FixedZone("", 3600))}
	if again := (&metav1.Condition{Reason: "Waits"}); !sameAdmitted(admitted{waits, at(0)}, admitted{again, &elsewhere}) {
		t.Error("an equal part, whose time has another zone, differs")
	}
}

// checkSame changes each field of a T, and of what is in it, and checks that same sees it.
func checkSame[T any](t *testing.T, same func(a, b *T) bool) {
	t.Helper()
	full := func() *T {
		v := new(T)
		fill(reflect.ValueOf(v).Elem())
		return v
	}
	if !same(new(T), new(T)) || !same(full(), full()) {
		t.Error("what is equal differs")
	}
	for i := 0; ; i++ {
		changed, left := full(), i
		path := change(reflect.ValueOf(changed).Elem(), "", &left)
		if path == "" {
			t.Logf("%d changes were tried", i)
			return
		}
		if equality.Semantic.DeepEqual(full(), changed) {
			t.Fatalf("%s did not change", path)
		}
		if same(full(), changed) || same(changed, full()) {
			t.Errorf("a change of %s is not seen", path)
		}
	}
}

// fill sets all that is in v, each slice and map to one entry.
func fill(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[metav1.Time]():
		v.Set(reflect.ValueOf(metav1.NewTime(time.Unix(1, 0))))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case v.Kind() == reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	default:
		alter(v)
	}
}

// alter changes a value without parts.
func alter(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	default:
		panic(fmt.Sprintf("no change is known for a %s", v.Type()))
	}
}

// change makes that change of v of which *left is the number, and returns what it changed. Empty: there are not so many.
func change(v reflect.Value, path string, left *int) string {
	this := func() bool { *left--; return *left < 0 }
	switch {
	case v.Type() == reflect.TypeFor[metav1.Time]():
		if this() {
			v.Set(reflect.ValueOf(metav1.NewTime(time.Unix(2, 0))))
			return path
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if done := change(v.Field(i), path+"."+v.Type().Field(i).Name, left); done != "" {
				return done
			}
		}
	case v.Kind() == reflect.Pointer:
		if this() {
			v.SetZero()
			return path + " to nil"
		}
		return change(v.Elem(), path, left)
	case v.Kind() == reflect.Slice:
		if this() {
			v.SetZero()
			return path + " to none"
		}
		if this() {
			v.Set(reflect.Append(v, v.Index(0)))
			return path + " to two"
		}
		return change(v.Index(0), path+"[0]", left)
	case v.Kind() == reflect.Map:
		key := v.MapKeys()[0]
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(key))
		if this() {
			v.SetZero()
			return path + " to none"
		}
		if this() {
			v.SetMapIndex(key, reflect.Value{})
			alter(value)
			other := reflect.New(v.Type().Key()).Elem()
			other.Set(key)
			alter(other)
			v.SetMapIndex(other, value)
			return path + " to another key"
		}
		if this() {
			alter(value)
			v.SetMapIndex(key, value)
			return path + "'s value"
		}
	case this():
		alter(v)
		return path
	}
	return ""
}

// BenchmarkUnchanged compares the orders and conditions of 5,000 nodes with those that are stored.
func BenchmarkUnchanged(b *testing.B) {
	nodes := make([]v1alpha1.NodeUpgrade, 5000)
	for i := range nodes {
		fill(reflect.ValueOf(&nodes[i].Spec).Elem())
		nodes[i].Status.Conditions = []metav1.Condition{{}}
		fill(reflect.ValueOf(&nodes[i].Status.Conditions[0]).Elem())
		nodes[i].Status.Conditions[0].Type = v1alpha1.ConditionAdmitted
	}
	var again []*v1alpha1.NodeUpgrade
	for i := range nodes {
		again = append(again, nodes[i].DeepCopy())
	}
	for b.Loop() {
		for i := range nodes {
			if !sameOrder(&nodes[i].Spec, &again[i].Spec) || !sameAdmitted(coordinatorsPart(&nodes[i]), coordinatorsPart(again[i])) {
				b.Fatal("they differ")
			}
		}
	}
}
