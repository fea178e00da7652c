package cli

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/fleet"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// fleetCommand is what the verbs of `kubectl upgrade fleet` share: which clusters are meant, and how
// they are asked.
type fleetCommand struct {
	*program
	choice         fleet.Choice
	file, selector string
	limitText      string
	limit          time.Duration // for each cluster
	parallel       int
	kubeconfig     clientcmdapi.Config
}

// fleetFile is the variable that names the file of the fleet, where --fleet is not given.
const fleetFile = "KUBECTL_UPGRADE_FLEET"

func newFleet(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Show, freeze and upgrade several clusters at once",
		Long: `Works on several clusters: the contexts of your kubeconfig that --contexts names or
matches, or those of a file of kind Fleet, which keeps them in stages:

  apiVersion: kubectl-upgrade.dev/v1alpha1
  kind: Fleet
  stages:                          # in the order in which versions reach them
    - name: dev
      contexts: ["dev-*"]
    - name: prod
      contexts: ["prod-*", hamburg]
      labels: {region: eu}         # for -l

All are asked at once, each with its own time limit, with the rights that you have
there. One that does not answer has a row that says why. The file belongs in Git; no
cluster knows of it. $KUBECTL_UPGRADE_FLEET may name it instead of --fleet.`,
		Example: `  kubectl upgrade fleet status --contexts 'prod-*'
  kubectl upgrade fleet apply v1.34.5 --fleet fleet.yaml --stage dev
  kubectl upgrade fleet freeze --contexts 'prod-*' --for 4h --reason incident`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(newFleetStatus(p), newFleetPlan(p), newFleetFreeze(p), newFleetUnfreeze(p), newFleetApply(p), newFleetReport(p))
	for _, sub := range cmd.Commands() {
		sub.Args = p.explainArguments(sub.Args)
	}
	return cmd
}

// defaultParallel is how many clusters are read at once. More would not be faster, as this machine has
// to read all of them.
const defaultParallel = 32

// addTo adds the flags that choose clusters. standard is how long each may take.
func (f *fleetCommand) addTo(cmd *cobra.Command, standard string) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.choice.Contexts, "contexts", nil, "The clusters: contexts of the kubeconfig, or patterns such as 'prod-*'.")
	flags.StringVar(&f.file, "fleet", "", "A file of kind Fleet with the clusters in stages. Default: $"+fleetFile+".")
	flags.StringSliceVar(&f.choice.Stages, "stage", nil, "Only the clusters of this stage of the file.")
	flags.StringVarP(&f.selector, "selector", "l", "", "Only stages of the file with these labels, such as region=eu.")
	flags.StringVar(&f.limitText, "cluster-timeout", standard, "How long one cluster may take to answer, such as 10s.")
	flags.IntVar(&f.parallel, "parallel", defaultParallel, "How many clusters are read at once. All are waited for at once.")
	_ = cmd.RegisterFlagCompletionFunc("contexts", f.completeContexts)
	_ = cmd.RegisterFlagCompletionFunc("stage", f.completeStages)
}

// oneCluster are kubectl's flags that say which cluster, and as whom: with several, the kubeconfig does.
var oneCluster = []string{"context", "cluster", "server", "user", "token", "certificate-authority", "client-certificate", "client-key", "tls-server-name", "proxy-url"}

// choose reads the flags, the file and the kubeconfig, and returns the clusters that are meant.
func (f *fleetCommand) choose(cmd *cobra.Command) ([]fleet.Cluster, error) {
	for _, name := range oneCluster {
		if cmd.Flags().Changed(name) {
			return nil, fmt.Errorf("--%s is about one cluster: leave it out, and choose clusters with --contexts or --fleet", name)
		}
	}
	var err error
	if f.limit, err = parseDuration("cluster-timeout", f.limitText); err != nil {
		return nil, err
	}
	if f.parallel < 1 {
		return nil, fmt.Errorf("--parallel=%d: must be 1 or more", f.parallel)
	}
	if f.selector != "" {
		if f.choice.Selector, err = labels.Parse(f.selector); err != nil {
			return nil, fmt.Errorf("--selector=%s: %w", f.selector, err)
		}
	}
	if err := f.readFile(); err != nil {
		return nil, err
	}
	contexts, err := f.readKubeconfig()
	if err != nil {
		return nil, err
	}
	return f.choice.Choose(contexts)
}

// maxFleet limits how much is read of the file.
const maxFleet = 1 << 20

// readFile reads the Fleet, if there is one.
func (f *fleetCommand) readFile() error {
	from := "--fleet=" + f.file
	if f.file == "" {
		if f.file = os.Getenv(fleetFile); f.file == "" {
			return nil
		}
		from, f.choice.Default = "$"+fleetFile+"="+f.file, true
	}
	in, err := os.Open(f.file)
	if err != nil {
		return fmt.Errorf("%s: %w", from, cause(err))
	}
	defer in.Close()
	text, err := readAll(in, maxFleet)
	if err != nil {
		return fmt.Errorf("%s: %w", from, cause(err))
	}
	file, err := fleet.ReadFile(text)
	if err != nil {
		return fmt.Errorf("%s: %w; `kubectl upgrade fleet --help` shows one", from, err)
	}
	f.choice.File = &file
	return nil
}

// readKubeconfig reads the kubeconfig once, and returns its contexts.
func (f *fleetCommand) readKubeconfig() (map[string]fleet.Context, error) {
	if _, err := f.missingKubeconfigs(); err != nil {
		return nil, err
	}
	var err error
	if f.kubeconfig, err = f.cluster.ToRawKubeConfigLoader().RawConfig(); err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	contexts := map[string]fleet.Context{}
	for name, one := range f.kubeconfig.Contexts {
		contexts[name] = fleet.Context{User: one.AuthInfo}
		if to := f.kubeconfig.Clusters[one.Cluster]; to != nil {
			contexts[name] = fleet.Context{Server: to.Server, Proxy: to.ProxyURL, User: one.AuthInfo}
		}
	}
	return contexts, nil
}

// completeContexts offers the contexts of the kubeconfig, after those that are there already.
func (f *fleetCommand) completeContexts(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	contexts, err := f.readKubeconfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	before := begun[:strings.LastIndexByte(begun, ',')+1]
	var offers []string
	for _, name := range slices.Sorted(maps.Keys(contexts)) {
		if offer := before + name; strings.HasPrefix(offer, begun) {
			offers = append(offers, offer)
		}
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

// completeStages offers the stages of the file.
func (f *fleetCommand) completeStages(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	if err := f.readFile(); err != nil || f.choice.File == nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return f.choice.File.StageNames(), cobra.ShellCompDirectiveNoFileComp
}

// unanswered is the error where not all clusters answered.
type unanswered struct{ error }

// outcomeOf returns the error for clusters of which not all answered. answer says of a row whether it counts,
// and whether the cluster is silent.
func outcomeOf[R any](rows []R, answer func(R) (named string, counts, silent bool)) error {
	var silent []string
	asked := 0
	for _, r := range rows {
		named, counts, none := answer(r)
		if counts {
			asked++
		}
		if counts && none {
			silent = append(silent, named)
		}
	}
	if len(silent) == 0 {
		return nil
	}
	return unansweredOf(silent, asked)
}

// answerOfRow is what outcomeOf asks of a row of `kubectl upgrade fleet status`.
func answerOfRow(r fleet.Row) (named string, counts, silent bool) {
	return r.Context, r.Counts(), r.State == fleet.StateSilent
}

// unansweredOf returns the error that these of the clusters that were asked did not answer.
func unansweredOf(silent []string, asked int) error {
	return unanswered{fmt.Errorf("%d of %s did not answer: %s", len(silent), fleet.Count(asked), view.Few(silent))}
}

// row is a row of a cluster.
type row interface{ Name() string }

// showRows writes what is shown of the clusters in the format that was chosen: their contexts, data, or a table.
func showRows[R row, S any](f *fleetCommand, o *output, rows []R, shown S, table func(S, render.Options) string) error {
	switch {
	case o.format() == "name":
		for _, r := range rows {
			fmt.Fprintln(f.Out, r.Name())
		}
		return nil
	case !o.forPeople():
		return o.print(f.program, shown)
	}
	options := f.drawing()
	options.Wide = o.format() == "wide"
	_, err := io.WriteString(f.drawn, table(shown, options))
	return err
}
