package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/preflight"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// certificates is `kubectl upgrade certificates` with its arguments.
type certificates struct {
	*program
	output
}

func newCertificates(p *program) *cobra.Command {
	c := &certificates{program: p, output: output{nameless: "certificates have no names"}}
	cmd := &cobra.Command{
		Use:   "certificates",
		Short: "List when certificates end and who renews them; renew them",
		Long: `Lists the certificates of control planes and kubelets, what ends first comes first:

  - AUTHORITY is what kubeadm calls the authority that signed it, or its name;
  - ENDS is when it ends, or its authority, if that ends first;
  - RENEWED BY is kubeadm, the kubelet, elsewhere (the authority's key is not
    on the node, or it is not kubeadm's), or nobody;
  - IN USE is "current" if the program that uses it has it, and "former" if it
    still has what was in the file before; "-" if that is not known, or no
    program uses it.

Below are the commands that help, such as ` + "`kubectl upgrade certificates renew`" + `. -o wide adds files, when they were written, and the
programs. Agents look every five minutes.`,
		Example: `  kubectl upgrade certificates
  kubectl upgrade certificates -o wide
  kubectl upgrade certificates -o jsonpath='{.items[?(@.state!="Valid")]}'`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.addTo(cmd)
	renew := newCertificatesRenew(p)
	renew.Args = p.explainArguments(renew.Args)
	cmd.AddCommand(renew)
	return cmd
}

func (c *certificates) run(ctx context.Context) error {
	reader, err := c.reader()
	if err != nil {
		return err
	}
	policy, err := reader.policy(ctx)
	if err == nil {
		c.noteName(policy)
	}
	inventories, err := reader.kinds.NodeInventories.List(ctx, metav1.ListOptions{})
	if err != nil {
		return explain("reading NodeInventories", err)
	}
	list := view.NewCertificates(inventories.Items, c.now())
	requests, err := reader.servingRequests(ctx)
	switch {
	case apierrors.IsForbidden(err):
		fmt.Fprintln(c.ErrOut, "Whether a kubelet waits for the approval of its serving certificate is not known: you may not list CertificateSigningRequests.")
	case err != nil:
		return explain("reading CertificateSigningRequests", err)
	}
	for _, r := range requests {
		list.ServingRequests = append(list.ServingRequests, view.ServingRequest(r))
	}
	if !c.forPeople() {
		return c.print(c.program, list)
	}
	options := c.drawing()
	options.Wide = c.format() == "wide"
	_, err = io.WriteString(c.drawn, render.Certificates(list, options))
	return err
}

// servingRequests returns the requests of kubelets for serving certificates that wait for an approval, with the rights of
// the user: of each node the last, as a kubelet makes another one from time to time.
func (r *reader) servingRequests(ctx context.Context) ([]preflight.ServingRequest, error) {
	list, err := r.kube.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{
		FieldSelector: "spec.signerName=" + certificatesv1.KubeletServingSignerName,
	})
	if err != nil {
		return nil, err
	}
	last := map[string]*certificatesv1.CertificateSigningRequest{}
	for i := range list.Items {
		one := &list.Items[i]
		node, is := strings.CutPrefix(one.Spec.Username, "system:node:")
		if !is || one.Spec.SignerName != certificatesv1.KubeletServingSignerName {
			continue
		}
		if other := last[node]; other == nil || other.CreationTimestamp.Before(&one.CreationTimestamp) {
			last[node] = one
		}
	}
	var waiting []preflight.ServingRequest
	for _, node := range slices.Sorted(maps.Keys(last)) {
		if len(last[node].Status.Conditions) == 0 { // neither approved, denied nor failed
			waiting = append(waiting, preflight.ServingRequest{Name: last[node].Name, Node: node})
		}
	}
	return waiting, nil
}
