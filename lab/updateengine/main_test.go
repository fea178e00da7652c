package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"
)

// What is asked for and what is told of are the same words, in update_engine's
// own order and types: x d s s x.
func TestStatusIsAskedForAndTold(t *testing.T) {
	var told []any
	e := &engine{status: idle, checked: 42, sentinel: filepath.Join(t.TempDir(), "reboot-required")}
	e.emit = func(at dbus.ObjectPath, signal string, values ...any) error {
		if at != "/com/coreos/update1" || signal != "com.coreos.update1.Manager.StatusUpdate" {
			t.Errorf("signal %s of %s", signal, at)
		}
		told = values
		return nil
	}
	answer := func() []any {
		checked, progress, status, version, size, err := e.GetStatus()
		if err != nil {
			t.Fatal(err)
		}
		return []any{checked, progress, status, version, size}
	}
	if diff := cmp.Diff([]any{int64(42), 0.0, idle, "0.0.0", int64(0)}, answer()); diff != "" {
		t.Errorf("at first (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(e.sentinel); err == nil {
		t.Error("a reboot is asked for from the start")
	}
	if err := e.Set(needReboot); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(answer(), told); diff != "" || told[2] != needReboot {
		t.Errorf("told %v (-answered +told):\n%s", told, diff)
	}
	if _, err := os.Stat(e.sentinel); err != nil {
		t.Errorf("no file asks for the reboot: %v", err)
	}
	if err := e.Set(idle); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(e.sentinel); err != nil {
		t.Errorf("the file is gone without a reboot: %v", err)
	}
	if got, want := dbus.SignatureOf(answer()...).String(), "xdssx"; got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}
