package rehearsal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/facts"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// kubeletProgram is the kubelet in an image.
const kubeletProgram = "usr/bin/kubelet"

// nowhere is a folder that does not exist.
const nowhere = "/nonexistent"

// ending are flags with which the kubelet ends as it takes its lock file, once it has validated its flags and its
// configuration and before it writes or connects to anything (kubelet 1.34, cmd/kubelet/app/server.go, run). It would make
// a certificate if it were not given one, which it does not read so early.
var ending = []string{
	"--lock-file=" + nowhere + "/lock", "--root-dir=" + nowhere, "--cert-dir=" + nowhere,
	"--tls-cert-file=" + nowhere + "/kubelet.crt", "--tls-private-key-file=" + nowhere + "/kubelet.key",
}

// unknownEnding is what a kubelet says that does not have one of these flags: nothing is learned of its configuration.
var unknownEnding = regexp.MustCompile(`unknown flag: --(lock-file|root-dir|cert-dir|tls-cert-file|tls-private-key-file)\b`)

// accepted is what the kubelet says then.
const accepted = "unable to acquire file lock"

// kubeletRefusals are what it says of a flag, a feature gate or a field that it does not take.
var kubeletRefusals = regexp.MustCompile(`unknown (shorthand )?flag|failed to parse kubelet flag|invalid argument ".*" for ".*" flag` +
	`|unrecognized feature gate|cannot set feature gate` +
	`|invalid configuration|failed to validate kubelet configuration|failed to load kubelet config|failed to merge kubelet configs` +
	`|strict decoding error|unable to load client CA file|initialize logging`)

// kubelet lets the kubelet of the image read the node's configuration, as its unit would start it.
func (r *rehearsing) kubelet(ctx context.Context, start facts.KubeletStart, out *v1alpha1.Rehearsal) {
	refusal, err := r.ask(ctx, out.Version, start)
	if err != nil {
		out.Untried = append(out.Untried, fmt.Sprintf("the kubelet of %s: %v", out.Version, err))
		return
	}
	if refusal == "" {
		return
	}
	cause := v1alpha1.CauseVersion
	if out.Version == r.running {
		cause = v1alpha1.CauseNode
	} else if today, err := r.ask(ctx, r.running, start); err == nil && today != "" {
		cause = v1alpha1.CauseNode
	}
	problem := v1alpha1.Problem{Reason: v1alpha1.KubeletRefuses, Message: fmt.Sprintf("the kubelet of %s refuses how it would be started: %s", out.Version, refusal)}
	out.Problems = append(out.Problems, v1alpha1.RehearsalProblem{Problem: problem, Cause: cause})
}

// ask returns why the kubelet of a version refuses its flags or its configuration; empty: it takes them.
func (r *rehearsing) ask(ctx context.Context, version string, start facts.KubeletStart) (refusal string, err error) {
	image, err := os.Open(r.layout.At(host.ImagePath(version, host.Architecture())))
	if err != nil {
		return "", fmt.Errorf("opening its image: %w", err)
	}
	defer func() { _ = image.Close() }()
	var said bytes.Buffer
	_, err = host.RunConfined(ctx, host.Confined{
		Image: image, Program: kubeletProgram, Files: start.Files, Stderr: &said,
		Args: slices.Concat(start.Args, ending),
	})
	var failed *host.ProgramFailure
	switch text := said.String(); {
	case err != nil && !errors.As(err, &failed):
		return "", err
	case strings.Contains(text, accepted):
		return "", nil
	case kubeletRefusals.MatchString(text) && !unknownEnding.MatchString(text):
		return refusalLine(text, kubeletRefusals), nil
	case err == nil:
		return "", errors.New("it ended without the error that shows that it has read its configuration")
	}
	return "", err
}

// klogQuoted is the error in a line of the kubelet's log.
var klogQuoted = regexp.MustCompile(`err="((?:[^"\\]|\\.)*)"`)

// refusalLine returns the part of the first line with a refusal that says most; empty: there is none.
func refusalLine(text string, refusals *regexp.Regexp) string {
	for line := range strings.Lines(text) {
		if !refusals.MatchString(line) {
			continue
		}
		if quoted := klogQuoted.FindStringSubmatch(line); quoted != nil {
			return strings.ReplaceAll(quoted[1], `\"`, `"`)
		}
		return strings.TrimSpace(line)
	}
	return ""
}
