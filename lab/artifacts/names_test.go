package artifacts

import "testing"

const imageList = `registry.k8s.io/kube-apiserver:v1.34.4
registry.k8s.io/kube-controller-manager:v1.34.4
registry.k8s.io/kube-scheduler:v1.34.4
registry.k8s.io/kube-proxy:v1.34.4
registry.k8s.io/coredns/coredns:v1.12.1
registry.k8s.io/pause:3.10.1
registry.k8s.io/etcd:3.6.5-0
`

func TestParseImageNames(t *testing.T) {
	names, err := parseImageNames(imageList)
	if err != nil {
		t.Fatal(err)
	}
	for what, pair := range map[string][2]string{
		"etcd's version":      {names.etcdVersion(), "3.6.5"},
		"CoreDNS's version":   {names.corednsVersion(), "1.12.1"},
		"the pause image":     {names.pause, "registry.k8s.io/pause:3.10.1"},
		"kube-proxy's image":  {names.programs["kube-proxy"], "registry.k8s.io/kube-proxy:v1.34.4"},
		"an archive's name":   {tarPath("/d", names.coredns), "/d/coredns.tar"},
		"the scheduler image": {names.programs["kube-scheduler"], "registry.k8s.io/kube-scheduler:v1.34.4"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %q, want %q", what, pair[0], pair[1])
		}
	}
	for _, list := range []string{"", "registry.k8s.io/etcd:3.6.5-0\n", imageList + "registry.k8s.io/new:v1\n"} {
		if _, err := parseImageNames(list); err == nil {
			t.Errorf("no error for a list that is not understood:\n%s", list)
		}
	}
}
