package preflight_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
)

// edited is a Corefile that a person has edited, and that kubeadm can migrate.
const edited = `.:53 {
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
    }
    hosts {
       192.0.2.1 registry.example
       fallthrough
    }
    forward . 192.0.2.53
}
`

// coreDNS makes the cluster one with that Corefile and a Deployment for each image.
func coreDNS(corefile string, images ...string) func(*preflight.Facts) {
	return func(f *preflight.Facts) { f.CoreDNS = &preflight.CoreDNS{Images: images, Corefile: &corefile} }
}

// then alters the facts one way, and another.
func then(all ...func(*preflight.Facts)) func(*preflight.Facts) {
	return func(f *preflight.Facts) {
		for _, alter := range all {
			alter(f)
		}
	}
}

func corefileScenes() []scene {
	const known, own = "registry.k8s.io/coredns/coredns:v1.12.1", "registry.example/dns/coredns:v1.12.1-own.2"
	plugin := strings.Replace(edited, "errors", "errors\n    grpc {\n       x\n    }\n    autopath @kubernetes", 1)
	option := strings.Replace(edited, "pods insecure", "pods insecure\n       speed 3", 1)
	old := strings.Replace(edited, "forward . 192.0.2.53", "proxy . 192.0.2.53", 1)
	disabled := func(f *preflight.Facts) { f.KubeadmConfig.DNS.Disabled = true }
	tag := func(text string) func(*preflight.Facts) {
		return func(f *preflight.Facts) { f.KubeadmConfig.DNS.ImageTag = text }
	}
	applied := func(f *preflight.Facts) { upgrade(f, "cp-1").Status.Versions.Kubeadm = "v1.35.4" }
	none := func(missing bool) func(*preflight.Facts) {
		return func(f *preflight.Facts) {
			f.CoreDNS = &preflight.CoreDNS{ConfigMissing: missing, Images: []string{known}}
		}
	}
	mirror := func(f *preflight.Facts) { f.KubeadmConfig.ImageRepository = "registry.example/k8s" }
	const block, warn, image = "Block corefile ConfigMap/kube-system/coredns", "Warn corefile ConfigMap/kube-system/coredns", "Warn coredns-image Deployment/kube-system/coredns"
	return []scene{
		{check: "corefile", name: "edited", alter: coreDNS(edited, known)},
		{check: "corefile", name: "empty", alter: coreDNS("", known)},
		{check: "corefile", name: "a build of one's own", alter: coreDNS(edited, own), want: []string{block}},
		{check: "corefile", name: "a newer release than kubeadm's", alter: coreDNS(edited, "registry.k8s.io/coredns/coredns:v1.14.2"), want: []string{block}},
		{check: "corefile", name: "the release that kubeadm brings", alter: coreDNS(plugin, "registry.k8s.io/coredns/coredns:v1.13.1@sha256:"+strings.Repeat("a", 64))},
		{check: "corefile", name: "no tag", alter: coreDNS(edited, "registry.example:5000/coredns"), want: []string{block}},
		{check: "corefile", name: "a plugin that kubeadm does not know", alter: coreDNS(plugin, known), want: []string{block}},
		{check: "corefile", name: "an option that kubeadm does not know", alter: coreDNS(option, known), want: []string{block}},
		{check: "corefile", name: "kubeadm migrates it", alter: coreDNS(edited, "registry.k8s.io/coredns/coredns:v1.6.5"), want: []string{warn}},
		{check: "corefile", name: "a plugin that CoreDNS has removed", alter: coreDNS(old, "k8s.gcr.io/coredns:1.4.0"), want: []string{block, image, warn}},
		{check: "corefile", name: "braces do not match", alter: coreDNS("{\n errors\n", known), want: []string{block}},
		{check: "corefile", name: "no Deployment", alter: coreDNS(edited), want: []string{block}},
		{check: "corefile", name: "two Deployments", alter: coreDNS(edited, known, known), want: []string{block}},
		{check: "corefile", name: "no ConfigMap, and disabled", alter: then(none(true), disabled), want: []string{block}},
		{check: "corefile", name: "no key", alter: none(false), want: []string{block}},
		{check: "corefile", name: "for another minor", alter: to("v1.36.3", "v1.37.2", coreDNS(edited, "registry.k8s.io/coredns/coredns:v1.14.7")), want: []string{block}},
		{check: "corefile", name: "a minor that is not known", alter: to("v1.39.0", "v1.40.0", coreDNS(edited, own)), want: []string{"Warn version-newer"}},
		{check: "corefile", name: "kubeadm upgrade apply has run", alter: then(coreDNS(plugin, known), applied)},
		{check: "corefile", name: "Cluster API decides", alter: then(coreDNS(plugin, known), func(f *preflight.Facts) {
			f.Policy.VersionsFrom = v1alpha1.VersionsFromClusterAPI
			for i := range f.Nodes {
				f.Nodes[i].Annotations[preflight.MachineAnnotation] = "x"
			}
		})},
		{check: "corefile", name: "only a reboot", alter: then(coreDNS(edited, own), func(f *preflight.Facts) { reboots(f, "cp-1") })},

		{check: "coredns-image", name: "of another place", alter: coreDNS(edited, "registry.example/dns/coredns:v1.12.1"), want: []string{image}},
		{check: "coredns-image", name: "another release than the one of the same place", alter: then(coreDNS(edited, known), tag("v1.12.4"))},
		{check: "coredns-image", name: "the image repository of the cluster", alter: then(coreDNS(edited, "registry.example/k8s/coredns:v1.12.1"), mirror)},
		{check: "coredns-image", name: "of the place that the cluster had before", alter: then(coreDNS(edited, known), mirror), want: []string{image}},
		{check: "coredns-image", name: "of an image repository of its own", alter: then(coreDNS(edited, "registry.example/dns/coredns:v1.12.1"), mirror, func(f *preflight.Facts) {
			f.KubeadmConfig.DNS.ImageRepository = "registry.example/dns"
		})},
		{check: "coredns-image", name: "disabled", alter: then(coreDNS(edited, "registry.example/dns/coredns:v1.12.1"), disabled)},
		{check: "coredns-image", name: "one control plane is left", alter: then(coreDNS(edited, "registry.example/dns/coredns:v1.12.1"), applied), want: []string{image}},
	}
}

// Nothing in a Corefile or in an image's name makes the checks panic: they run in the coordinator.
func TestAnyCorefile(t *testing.T) {
	words := rapid.SampledFrom([]string{"{", "}", "\n", " ", ".:53", "errors", "forward", ". 1.1.1.1", "cache", "\"", "\\", "import", "/etc/passwd", "{$HOME}", "(x)", "#"})
	rapid.Check(t, func(t *rapid.T) {
		corefile := strings.Join(rapid.SliceOfN(words, 0, 30).Draw(t, "corefile"), "")
		image := rapid.SampledFrom([]string{"", ":", "@", "x", "x:v1.6.5", "x:1.11.1", "x:v1.12.1", "x:vv", "a:5000/x"}).Draw(t, "image")
		f := cluster(1, 1)
		coreDNS(corefile, image)(f)
		for _, finding := range preflight.Check(*f) {
			if len(finding.Message) > 1024 || len(finding.Advice) > 1024 {
				t.Fatalf("too long: %+v", finding)
			}
		}
	})
}
