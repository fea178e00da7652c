package sysupdate

import (
	"strings"
	"testing"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// FuzzParseConf parses confs, which come from a publisher or a person.
func FuzzParseConf(f *testing.F) {
	f.Add("[Transfer]\nVerify=false\n[Source]\nType=url-file\nPath=https://x/\nMatchPattern=kubernetes-v1.34.@v-%a.raw\n[Target]\nInstancesMax=3\n")
	f.Add("[Source]\nType=url-file\nPath=\\\n x\nMatchPattern=kubernetes-v1.34.@v-%a.raw \\\n kubernetes-v1.35.@v-%a.raw")
	f.Add("[Source\n;")
	f.Fuzz(func(t *testing.T, text string) {
		conf, err := ParseConf(text)
		if err == nil && (conf.Line == "" || conf.Source == "") {
			t.Errorf("%q is parsed as %+v", text, conf)
		}
	})
}

// FuzzParseSource parses addresses, which come with the order.
func FuzzParseSource(f *testing.F) {
	image, err := host.NewImage("v1.34.4", "amd64")
	if err != nil {
		f.Fatal(err)
	}
	f.Add("https://x/y/kubernetes-v1.34.4-x86-64.raw")
	f.Add("http://u:p@[::1]:80/%2e%2e/kubernetes-v1.34.4-x86-64.raw#x")
	f.Add("file:///etc/passwd")
	f.Fuzz(func(t *testing.T, address string) {
		s, err := parseSource(address, image)
		if err == nil && (s.folder+image.Name() != address || !strings.HasPrefix(strings.ToLower(address), "http")) {
			t.Errorf("%q is parsed as a file in %q", address, s.folder)
		}
	})
}
