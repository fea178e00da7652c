package cli

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plan"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/source"
)

// configuration is what counts here of the coordinator's.
type configuration struct {
	Source struct {
		URL string `json:"url"`
	} `json:"source"`
	Strategy v1alpha1.Strategy `json:"strategy"`
}

func readConfiguration(ctx context.Context, reader *reader) (config configuration, err error) {
	config.Source.URL = source.Default
	stored, err := reader.core.ConfigMaps(v1alpha1.Namespace).Get(ctx, "coordinator", metav1.GetOptions{})
	if err == nil {
		err = yaml.Unmarshal([]byte(stored.Data["config.yaml"]), &config)
	}
	if err != nil {
		return configuration{}, fmt.Errorf("reading the coordinator's configuration: %w", err)
	}
	return config, nil
}

// sourcePatience is how long the index of images may take to come.
const sourcePatience = 5 * time.Second

// readSource reads the index that the coordinator reads, unless there was a problem
// with its configuration. What goes wrong is the source's trouble, and said aloud,
// since the coordinator may be luckier.
func (p *program) readSource(ctx context.Context, config configuration, problem error) plan.Source {
	if problem != nil {
		return p.noSource(problem.Error())
	}
	poller, err := source.NewPoller(config.Source.URL)
	if err != nil {
		return p.noSource(err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, sourcePatience)
	defer cancel()
	found := poller.Look(ctx)
	if found.Trouble.Reason == v1alpha1.ReasonSourceUnavailable {
		return p.noSource(found.Trouble.Message)
	}
	return found
}

func (p *program) noSource(message string) plan.Source {
	fmt.Fprintf(p.ErrOut, "warning: what images are on offer is not known here: %s\n", oneLine(message))
	return plan.Source{Trouble: plan.Hold{Reason: v1alpha1.ReasonSourceUnavailable, Message: message}}
}
