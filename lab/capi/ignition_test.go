package capi

import (
	"strings"
	"testing"
)

// TestConvert converts what the bootstrap provider writes: the snippet's drop-in is in a second unit of
// the same name.
func TestConvert(t *testing.T) {
	const old = `{"ignition":{"version":"2.3.0"},
		"storage":{
			"files":[{"filesystem":"root","path":"/etc/kubeadm.yml","contents":{"source":"data:,a","verification":{}},"mode":384}],
			"links":[{"filesystem":"root","path":"/etc/extensions/kubernetes.raw","target":"/opt/k.raw"}]},
		"systemd":{"units":[
			{"name":"kubeadm.service","enabled":true,"contents":"[Install]\nWantedBy=multi-user.target\n"},
			{"name":"locksmithd.service","mask":true},
			{"name":"kubeadm.service","dropins":[{"name":"10-flatcar.conf","contents":"[Unit]\n"}]}]}}`
	const want = `{"ignition":{"version":"3.1.0"},` +
		`"storage":{"files":[{"path":"/etc/kubeadm.yml","overwrite":true,"contents":{"source":"data:,a","verification":{}},"mode":384}],` +
		`"links":[{"path":"/etc/extensions/kubernetes.raw","target":"/opt/k.raw","hard":false,"overwrite":true},` +
		`{"path":"/etc/systemd/system/multi-user.target.wants/kubeadm.service","target":"/etc/systemd/system/kubeadm.service","hard":false,"overwrite":true}]},` +
		`"systemd":{"units":[{"name":"kubeadm.service","contents":"[Install]\nWantedBy=multi-user.target\n","dropins":[{"name":"10-flatcar.conf","contents":"[Unit]\n"}]},` +
		`{"name":"locksmithd.service","mask":true}]}}`
	got, err := convert([]byte(old))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestConvertRefuses(t *testing.T) {
	for _, old := range []string{
		"", "#cloud-config",
		`{"storage":{"disks":[{"device":"/dev/sda"}]}}`,
		`{"passwd":{"users":[{"name":"core"}]}}`,
	} {
		if got, err := convert([]byte(old)); err == nil || !strings.Contains(err.Error(), "bootstrap data") {
			t.Errorf("convert(%q) = %s, %v", old, got, err)
		}
	}
}
