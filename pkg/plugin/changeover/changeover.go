package changeover

import (
	"context"
	"fmt"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/client"
)

// manager is the name under which fields are written.
const manager = "kubectl-upgrade"

// Changeover changes a cluster over from another program.
type Changeover struct {
	Kube kubernetes.Interface
	Ours *client.Interface
	// Other is the program.
	Other Other
	// DryRun is the option of the same name of each write.
	DryRun []string
	// Out gets a line for each step.
	Out io.Writer
	// Every is the time between two reads while it waits.
	Every time.Duration
}

// Other is a program that reboots nodes.
type Other struct {
	Name string
	// Namespace and DaemonSet are those of its pods.
	Namespace, DaemonSet string
	// Busy returns what it does with a node now. Empty: nothing.
	Busy func(context.Context, *appsv1.DaemonSet) (string, error)
	// Pause and Resume do what is needed beside the DaemonSet. Nil: nothing.
	Pause, Resume func(ctx context.Context, dryRun []string) error
}

func (c *Changeover) say(format string, args ...any) {
	suffix := ""
	if len(c.DryRun) > 0 {
		suffix = " (server dry run)"
	}
	fmt.Fprintf(c.Out, format+"%s\n", append(args, suffix)...)
}

func (c *Changeover) daemonSet(ctx context.Context) (*appsv1.DaemonSet, error) {
	d, err := c.Kube.AppsV1().DaemonSets(c.Other.Namespace).Get(ctx, c.Other.DaemonSet, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading DaemonSet %s/%s: %w", c.Other.Namespace, c.Other.DaemonSet, err)
	}
	return d, nil
}
