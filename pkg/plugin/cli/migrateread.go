package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

// choose returns the DaemonSet that --daemonset names, or the only one that was found.
func (m *migration) choose(program, where string, all, found []*appsv1.DaemonSet) (*appsv1.DaemonSet, error) {
	name := func(d *appsv1.DaemonSet) string { return d.Namespace + "/" + d.Name }
	if m.daemonSet != "" {
		i := slices.IndexFunc(all, func(d *appsv1.DaemonSet) bool { return name(d) == m.daemonSet })
		if i < 0 {
			return nil, fmt.Errorf("there is no DaemonSet %s %s", m.daemonSet, where)
		}
		return all[i], nil
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("%s was not found %s: --daemonset NAMESPACE/NAME names its DaemonSet, -f FILE reads its manifest", program, where)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%s has %d DaemonSets %s: say which, as in --daemonset %s", program, len(found), where, name(found[0]))
}

func daemonSetsOf(ctx context.Context, kube kubernetes.Interface) (all []*appsv1.DaemonSet, err error) {
	list, err := kube.AppsV1().DaemonSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, explain("reading DaemonSets", err)
	}
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all, nil
}

// workloads are those of a file.
type workloads struct {
	daemonSets  []*appsv1.DaemonSet
	deployments []*appsv1.Deployment
}

// workloadsIn reads the DaemonSets and Deployments in a file. It skips other kinds.
func (p *program) workloadsIn(file string) (found workloads, err error) {
	in := p.In
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return found, fmt.Errorf("reading %s: %w", file, errors.Unwrap(err))
		}
		defer f.Close()
		in = f
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(in))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err == nil {
			err = found.add(text)
		}
		if err != nil {
			return found, fmt.Errorf("reading %s: %w", displayName(file), err)
		}
	}
}

// add adds the objects of a document, which may be a list.
func (w *workloads) add(text []byte) error {
	var head struct {
		Kind  string `json:"kind"`
		Items []any  `json:"items"`
	}
	if err := yaml.Unmarshal(text, &head); err != nil {
		return err
	}
	for _, item := range head.Items {
		one, err := yaml.Marshal(item)
		if err == nil {
			err = w.add(one)
		}
		if err != nil {
			return err
		}
	}
	switch head.Kind {
	case "DaemonSet":
		d := &appsv1.DaemonSet{}
		w.daemonSets = append(w.daemonSets, d)
		return yaml.Unmarshal(text, d)
	case "Deployment":
		d := &appsv1.Deployment{}
		w.deployments = append(w.deployments, d)
		return yaml.Unmarshal(text, d)
	}
	return nil
}
