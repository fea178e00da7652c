package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/clusterstate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/leader"
)

// followLeader is `kubectl upgrade follow` with its arguments.
type followLeader struct {
	*program
	output
	dryRun
	leaderContext, leaderKubeconfig, leaderServer, leaderAuthority string
	name, soak, tokenFor                                           string
	anyDigests, undo                                               bool

	link *leader.Link
}

func newFollow(p *program) *cobra.Command {
	f := &followLeader{program: p}
	cmd := &cobra.Command{
		Use:   "follow --leader-context CONTEXT --soak DURATION",
		Short: "Take versions only after another cluster has run them",
		Long: `Makes this cluster follow another one, its leader: no upgrade to a version begins here before
the leader has run that version on every managed node for --soak, without a problem and with
the same images.

In the leader it makes a ServiceAccount that may read one UpgradePolicy and one Lease. Here it
makes a Secret with a token of that account and a Role for the coordinator, and adds a gate to
the UpgradePolicy. You need the rights of an administrator in both clusters.

The token is valid for --token-for, or shorter if the leader's API server says so. The same
command renews it. In its last 30 days ` + "`kubectl upgrade status`" + ` says so, and once it has expired
upgrades here wait. --undo removes all of it.`,
		Example: `  kubectl upgrade follow --context prod --leader-context staging --soak 72h
  kubectl upgrade follow --context prod --leader-context staging --soak 72h \
    --dry-run -o yaml
  kubectl upgrade follow --context prod --leader-context staging --undo`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return inOrder(cmd, f) },
	}
	f.formats = []string{"yaml", "json"}
	f.output.addTo(cmd)
	f.dryRun.addTo(cmd)
	flags := cmd.Flags()
	flags.Lookup("output").Usage = "With --dry-run=client: yaml or json, which prints the objects for Git. The Secret is not among them."
	flags.StringVar(&f.leaderContext, "leader-context", "", "Context of the cluster to follow.")
	flags.StringVar(&f.leaderKubeconfig, "leader-kubeconfig", "", "File that has that context. Default: as for this cluster.")
	flags.StringVar(&f.leaderServer, "leader-server", "", "Address by which this cluster's pods reach the leader, such as https://10.0.0.1:6443. Default: the context's.")
	flags.StringVar(&f.leaderAuthority, "leader-certificate-authority", "",
		"File with the authority that signs the leader's certificate. Default: the context's, or else that of the leader's pods.")
	flags.StringVar(&f.soak, "soak", "", "How long the leader has to have run a version, such as 72h or 3d; 0s: it only has to have brought it to every node.")
	flags.StringVar(&f.name, "name", "", "Name of the gate and the Secret. Default: made of --leader-context.")
	flags.StringVar(&f.tokenFor, "token-for", "365d", "How long the token is valid.")
	flags.BoolVar(&f.anyDigests, "any-digests", false, "Take a version also if its image here is not the one that the leader has run.")
	flags.BoolVar(&f.undo, "undo", false, "Do not follow the leader any more.")
	_ = cmd.RegisterFlagCompletionFunc("leader-context", completeKubeconfig(p, func(c clientcmdapi.Config) map[string]*clientcmdapi.Context { return c.Contexts }))
	return cmd
}

// minTokenFor is the shortest time that the API server takes for a token.
const minTokenFor = 10 * time.Minute

func (f *followLeader) validate() error {
	if err := f.dryRun.check(); err != nil {
		return err
	}
	switch {
	case f.leaderContext == "" && (!f.undo || f.name == ""):
		return errors.New("--leader-context is required: the context of the cluster to follow")
	case !f.forPeople() && f.format() != "yaml" && f.format() != "json":
		return fmt.Errorf("-o %s: this command prints yaml or json only", f.format())
	case !f.forPeople() && (f.dryRun.mode != dryRunClient || f.undo):
		return errors.New("-o prints the objects for Git: give --dry-run=client, and no --undo")
	case f.undo && f.soak != "":
		return errors.New("--undo and --soak: give one of them")
	case f.soak == "" && !f.undo:
		return errors.New("--soak is required: how long the leader has to have run a version, such as 72h")
	}
	return nil
}

// complete makes the link, and connects to both clusters.
func (f *followLeader) complete(cmd *cobra.Command) (err error) {
	l := &leader.Link{Name: cmp.Or(f.name, nameOf(f.leaderContext)), AnyDigests: f.anyDigests, DryRun: f.dryRun.options(), Out: f.Out}
	if problem := validation.IsDNS1123Label(l.Name); len(problem) > 0 {
		return fmt.Errorf("--name=%s: must be at most 63 lower-case letters, digits and '-', beginning and ending with a letter or digit", l.Name)
	}
	if f.soak != "" && !isZero(f.soak) {
		l.Soak, err = parseDuration("soak", f.soak)
	}
	if err == nil && l.Soak > 365*24*time.Hour {
		err = fmt.Errorf("--soak=%s: must be a year at most", f.soak)
	}
	if err != nil {
		return err
	}
	if l.Soak = l.Soak.Round(time.Second); f.tokenFor != "" {
		l.TokenFor, err = parseDuration("token-for", f.tokenFor)
	}
	if err == nil && l.TokenFor < minTokenFor {
		err = fmt.Errorf("--token-for=%s: must be at least %s", f.tokenFor, minTokenFor)
	}
	if err != nil {
		return err
	}
	if l.Follower, err = f.program.connect(cmd.Context()); err == nil && f.leaderContext != "" {
		l.Leader, err = f.leader().connect(cmd.Context())
	}
	f.link = l
	return err
}

func (f *followLeader) run(ctx context.Context) error {
	l := f.link
	if f.undo {
		return f.end(ctx, l)
	}
	if err := l.Check(ctx); err != nil {
		return err
	}
	if err := f.reach(ctx, l); err != nil {
		return err
	}
	switch {
	case !f.forPeople():
		text, err := l.Manifests(f.format())
		if err != nil {
			return err
		}
		_, err = f.Out.Write(text)
		return err
	case f.dryRun.mode == dryRunClient:
		fmt.Fprintf(f.told, "%s would follow %s by the gate %s%s; -o yaml prints the objects\n", l.Follower.Name, l.Leader.Name, l.Name, f.dryRun)
		return nil
	}
	expires, owner, err := l.Set(ctx)
	if err != nil {
		return err
	}
	f.warnOfOwner(owner, "put the gate there, which `--dry-run -o yaml` prints")
	if f.dryRun.mode != dryRunNone {
		return nil
	}
	return f.conclude(ctx, l, expires)
}

// isZero reports whether the text is a duration of zero.
func isZero(text string) bool {
	length, err := time.ParseDuration(text)
	return err == nil && length == 0
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// nameOf makes a name of a context's.
func nameOf(context string) string {
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(context), "-"), "-")
	return strings.Trim(name[:min(63, len(name))], "-")
}

// conclude says what follows from it, and whether the leader answers.
func (f *followLeader) conclude(ctx context.Context, l *leader.Link, expires time.Time) error {
	fmt.Fprintf(f.told, "%s takes a version once %s has run it for %s. The token is valid until %s: run this command again before.\n",
		l.Follower.Name, l.Leader.Name, l.Soak, clusterstate.FormatTime(expires))
	ran, err := l.Try(ctx)
	switch {
	case err != nil:
		fmt.Fprintf(f.ErrOut, "warning: %s does not answer this machine with the token (%s); `kubectl upgrade status` shows whether it answers the coordinator of %s\n",
			l.Server, oneLine(err.Error()), l.Follower.Name)
	case len(ran) == 0:
		fmt.Fprintf(f.told, "No upgrade of %s has ended yet: its next upgrade is the first that counts.\n", l.Leader.Name)
	case ran[0].SinceTime == nil:
		fmt.Fprintf(f.told, "%s is being upgraded to %s.\n", l.Leader.Name, ran[0].Version)
	default:
		fmt.Fprintf(f.told, "%s has run %s since %s.\n", l.Leader.Name, ran[0].Version, clusterstate.FormatTime(ran[0].SinceTime.Time))
	}
	return nil
}

// end ends that the cluster follows the leader.
func (f *followLeader) end(ctx context.Context, l *leader.Link) error {
	if f.dryRun.mode == dryRunClient {
		fmt.Fprintf(f.told, "the gate and the Secret %s of %s would be removed%s\n", l.Name, l.Follower.Name, f.dryRun)
		return nil
	}
	owner, err := l.Undo(ctx)
	f.warnOfOwner(owner, "remove the gate there")
	if err == nil && f.leaderContext == "" {
		fmt.Fprintf(f.told, "What the leader has of it is removed there with `kubectl -n %s delete serviceaccounts,rolebindings,clusterrolebindings -l %s`.\n",
			v1alpha1.Namespace, l.FollowerSelector())
	}
	return err
}

func (f *followLeader) warnOfOwner(owner, what string) {
	if owner != "" {
		fmt.Fprintf(f.ErrOut, "warning: %s owns UpgradePolicy %s and may undo this: %s\n", owner, v1alpha1.PolicyName, what)
	}
}

// leader returns the program with the leader as its cluster.
func (f *followLeader) leader() *program {
	p := *f.program
	flags := genericclioptions.NewConfigFlags(true).WithWrapConfigFn(func(config *rest.Config) *rest.Config { return onlyAPI(unlimited(config)) })
	flags.KubeConfig, flags.Timeout, flags.CacheDir = p.cluster.KubeConfig, p.cluster.Timeout, p.cluster.CacheDir
	if f.leaderKubeconfig != "" {
		flags.KubeConfig = &f.leaderKubeconfig
	}
	flags.Context = &f.leaderContext
	p.cluster = flags
	return &p
}

// connect connects to the cluster of the program's context.
func (p *program) connect(ctx context.Context) (c leader.Cluster, err error) {
	config, err := p.cluster.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return c, err
	}
	if c.Name = *p.cluster.Context; c.Name == "" {
		c.Name = config.CurrentContext
	}
	if _, has := config.Contexts[c.Name]; !has && c.Name != "" {
		return c, fmt.Errorf("there is no context %q; the kubeconfig has %s", c.Name, strings.Join(slices.Sorted(maps.Keys(config.Contexts)), ", "))
	}
	reader, err := p.reader()
	if err != nil {
		return c, err
	}
	c.Access, c.Kube, c.Kinds = reader.access, reader.kube, reader.kinds
	if err := c.Identify(ctx); err != nil {
		return c, explain("context "+c.Name, errors.Unwrap(err))
	}
	return c, nil
}

// reach sets how the follower's coordinator reaches the leader.
func (f *followLeader) reach(ctx context.Context, l *leader.Link) (err error) {
	access := rest.CopyConfig(l.Leader.Access)
	if err := rest.LoadTLSFiles(access); err != nil {
		return fmt.Errorf("context %s: %w", l.Leader.Name, err)
	}
	l.Server, l.Authority, l.ServerName = access.Host, access.CAData, access.ServerName
	if f.leaderServer != "" {
		l.Server = f.leaderServer
	}
	server, err := url.Parse(l.Server)
	if err != nil || server.Scheme != "https" || server.Host == "" || server.User != nil {
		return fmt.Errorf("the leader's address %q: must be https://HOST:PORT; --leader-server gives another one", l.Server)
	}
	if ip := net.ParseIP(server.Hostname()); server.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		fmt.Fprintf(f.ErrOut, "warning: %s is this machine: pods of %s reach the leader by another address, which --leader-server gives\n", l.Server, l.Follower.Name)
	}
	switch {
	case f.leaderAuthority != "":
		if l.Authority, err = os.ReadFile(f.leaderAuthority); err != nil {
			return fmt.Errorf("--leader-certificate-authority: %w", err)
		}
	case len(l.Authority) == 0: // verified by this machine's authorities, or not at all
		const pods = "kube-root-ca.crt"
		found, err := l.Leader.Kube.CoreV1().ConfigMaps(v1alpha1.Namespace).Get(ctx, pods, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("context %s has no certificate-authority, and reading ConfigMap %s: %w", l.Leader.Name, pods, err)
		}
		l.Authority = []byte(found.Data["ca.crt"])
	}
	return nil
}
