package kube

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestMostRecent checks that no first list may be answered from the past, and that a watch, or a later list, still
// continues where the last one ended.
func TestMostRecent(t *testing.T) {
	for before, want := range map[metav1.ListOptions]metav1.ListOptions{
		{ResourceVersion: "0", Limit: 500}: {},
		{Limit: 500}:                       {Limit: 500},
		{ResourceVersion: "17"}:            {ResourceVersion: "17"},
	} {
		got := before
		if MostRecent(&got); got != want {
			t.Errorf("%+v: got %+v, want %+v", before, got, want)
		}
	}
}
