package sysupdate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/image/signature"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/verb"
)

// staging is one call of Stage.
type staging struct {
	layout host.Layout
	args   verb.StageArgs
	image  host.Image
	source source
	log    *host.Log
	out    StageOutput
}

// Stage puts an image on the node's disk, next to the one that runs, and verifies its
// bytes and its content. It begins with what Disarm does. If the right file is already
// there, it is not downloaded again. A wrong one is removed and downloaded again,
// unless it is merged or active.
//
// Reasons: ConfConflict, SourceUnavailable, NotOffered, DiskFull,
// SignatureInvalid, HashMismatch, ContentMismatch, StageFailed.
func Stage(ctx context.Context, l host.Layout, args verb.StageArgs, log *host.Log) (*StageOutput, error) {
	wanted, err := host.NewImage(args.Version, host.Architecture())
	if err != nil {
		return nil, err
	}
	if err := checkHash(args.SHA256); err != nil {
		return nil, err
	}
	s := &staging{layout: l, args: args, image: wanted, log: log, out: StageOutput{Path: wanted.Path()}}
	if s.source, err = parseSource(args.URL, wanted); err != nil {
		return nil, err
	}
	if args.Keyring != "" {
		if s.source.keyring, err = signature.ReadKeyring(args.Keyring); err != nil {
			return nil, host.Fail(v1alpha1.ReasonSignatureInvalid, "spec.source.keyring of the UpgradePolicy: %w", err)
		}
	}
	err = s.run(ctx)
	return &s.out, err
}

func (s *staging) run(ctx context.Context) error {
	if err := s.disarmTimer(); err != nil {
		return err
	}
	if err := s.adopt(); err != nil {
		return err
	}
	if err := s.checkSigned(ctx); err != nil {
		return err
	}
	err := s.verify(ctx)
	if wrong := isWrong(err); wrong && !s.inUse() {
		s.log.Printf("%v; removing it", err)
		if err := s.remove(); err != nil {
			return err
		}
	} else if err == nil || wrong || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.download(ctx); err != nil {
		return err
	}
	if err := s.noteSigned(); err != nil {
		return err
	}
	s.out.Downloaded = true
	if err := s.verify(ctx); err != nil {
		if isWrong(err) && !s.inUse() {
			err = errors.Join(err, s.remove())
		}
		return err
	}
	return s.disarmTimer()
}

// disarmTimer does what Disarm does. Stage calls it again after the download: a run of
// Flatcar's timer that began earlier may have changed the symlink meanwhile.
func (s *staging) disarmTimer() error {
	notes, err := disarm(s.layout)
	s.out.Notes = append(s.out.Notes, notes...)
	return err
}

// adopt keeps the image if another run of systemd-sysupdate has already downloaded it.
func (s *staging) adopt() error {
	if isFile(s.path()) || !isFile(s.layout.At(s.image.PublishedPath())) {
		return nil
	}
	return link(s.layout, s.image.PublishedPath(), s.image.Path())
}

func (s *staging) path() string { return s.layout.At(s.image.Path()) }

func (s *staging) verify(ctx context.Context) error {
	info, err := os.Lstat(s.path())
	if err != nil {
		return fmt.Errorf("checking the image: %w", err)
	}
	s.out.Bytes = info.Size()
	file, err := OpenVerified(ctx, s.path(), s.args.SHA256)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return verifyContent(ctx, file, s.image)
}

func isWrong(err error) bool {
	reason := host.ReasonOf(err, "")
	return reason == v1alpha1.ReasonHashMismatch || reason == v1alpha1.ReasonContentMismatch
}

// inUse reports whether the image is merged or active. It returns true if that cannot
// be found out.
func (s *staging) inUse() bool {
	active, err := s.layout.Active()
	if err != nil || active == s.image {
		return true
	}
	merged, err := s.layout.Merged()
	return err == nil && merged == s.image
}

func (s *staging) remove() error {
	if err := os.Remove(s.path()); err != nil {
		return fmt.Errorf("removing a wrong image: %w", err)
	}
	return nil
}

func checkHash(sha256Hex string) error {
	if len(sha256Hex) != 64 || strings.Trim(sha256Hex, "0123456789abcdef") != "" {
		return fmt.Errorf("%q is not a sha256 in lower-case hex", sha256Hex)
	}
	return nil
}
