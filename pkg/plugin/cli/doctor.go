package cli

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/source"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/doctor"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
)

func newDoctor(p *program) *cobra.Command {
	var out output
	var from string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether this cluster can be managed",
		Long: `Checks whether this cluster can be managed, and whether what is installed is well: the
versions of the API server, plugin, coordinator, agents and CustomResourceDefinitions,
nodes without a sysext image, the sysupdate timer, other programs that reboot nodes, your
rights, the source of images, clocks, and the checks that the coordinator makes. It only
reads, also before the installation: then it says what cannot be known without agents.

Each line is ok, unknown, warn or fail, with what to do. The exit code is 1 if a line is
fail, or if the cluster cannot be read; else 0. -o yaml prints the same for a bug report,
with the versions on nodes; passwords and tokens are removed from every text.`,
		Example: `  kubectl upgrade doctor
  kubectl upgrade doctor --source https://mirror.example/kubernetes/
  kubectl upgrade doctor -o yaml > doctor.yaml`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.doctor(cmd.Context(), &out, from)
		},
	}
	out.addTo(cmd)
	cmd.Flags().StringVar(&from, "source", source.Default, "Before the installation: the folder of images that is to be used.")
	return cmd
}

// doctorTimeout is how long reading the cluster may take.
const doctorTimeout = time.Minute

func (p *program) doctor(ctx context.Context, out *output, from string) error {
	limited, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	facts, err := p.doctorFacts(limited, from)
	if err != nil {
		return err
	}
	diagnosis := doctor.Check(facts)
	if out.forPeople() {
		options := p.drawing()
		options.Wide = out.format() == "wide"
		_, err = io.WriteString(p.drawn, render.Diagnosis(diagnosis, options))
	} else {
		err = out.print(p, diagnosis)
	}
	if err == nil && diagnosis.Verdict == doctor.Fail {
		err = errors.New("this cluster cannot be managed as it is: see the lines with fail")
	}
	return err
}
