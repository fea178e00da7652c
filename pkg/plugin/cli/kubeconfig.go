package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// restConfig returns how to reach the cluster. Where a kubeconfig is missing, the error names it:
// client-go then goes on with an empty one, and asks localhost.
func (p *program) restConfig() (*rest.Config, error) {
	if p.access != nil {
		return p.access, nil
	}
	missing, err := p.missingKubeconfigs()
	if err != nil {
		return nil, err
	}
	config, err := p.cluster.ToRESTConfig()
	if err != nil && missing != "" {
		return nil, fmt.Errorf("%w; %s", err, missing)
	}
	return config, err
}

// missingKubeconfigs says which of the files that the user named are missing. It returns an error where
// all are.
func (p *program) missingKubeconfigs() (also string, err error) {
	source, files := p.kubeconfigs()
	missing := slices.DeleteFunc(slices.Clone(files), func(file string) bool {
		_, err := os.Stat(file)
		return !errors.Is(err, fs.ErrNotExist)
	})
	insideCluster := os.Getenv("KUBERNETES_SERVICE_HOST") != "" && source != "--kubeconfig"
	if len(files) > 0 && len(missing) == len(files) && !insideCluster && *p.cluster.APIServer == "" {
		return "", fmt.Errorf("%s names %s, and there is no such file", source, strings.Join(missing, " and "))
	}
	if len(missing) > 0 {
		also = fmt.Sprintf("%s also names %s, and there is no such file", source, strings.Join(missing, " and "))
	}
	return also, nil
}

// kubeconfigs returns the files that the user named, and what names them. None: the default counts.
func (p *program) kubeconfigs() (source string, files []string) {
	access := p.cluster.ToRawKubeConfigLoader().ConfigAccess()
	switch {
	case access.IsExplicitFile():
		return "--kubeconfig", []string{access.GetExplicitFile()}
	case os.Getenv("KUBECONFIG") == "":
		return "", nil
	}
	files = slices.DeleteFunc(slices.Clone(access.GetLoadingPrecedence()), func(file string) bool { return file == "" }) // as client-go
	return "$KUBECONFIG", files
}

// completeKubeconfig offers names from the kubeconfig.
func completeKubeconfig[V any](p *program, in func(clientcmdapi.Config) map[string]V) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		config, err := p.cluster.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return slices.Sorted(maps.Keys(in(config))), cobra.ShellCompDirectiveNoFileComp
	}
}
