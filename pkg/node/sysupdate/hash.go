package sysupdate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/node/host"
)

// VerifyHash returns an error with the reason HashMismatch if the sha256 of a file is
// another one. If there is no such file, the error is fs.ErrNotExist.
func VerifyHash(ctx context.Context, path, sha256Hex string) error {
	file, err := OpenVerified(ctx, path, sha256Hex)
	if err != nil {
		return err
	}
	return file.Close()
}

// OpenVerified opens a file and verifies its sha256. The caller can compare the open
// file with what is used later, as another file may have its name by then.
func OpenVerified(ctx context.Context, path, sha256Hex string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the image: %w", err)
	}
	if err := verifyHash(ctx, file, sha256Hex); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func verifyHash(ctx context.Context, file *os.File, sha256Hex string) error {
	hash := sha256.New()
	if _, err := io.Copy(hash, contextReader{ctx, file}); err != nil {
		return fmt.Errorf("reading the image %s: %w", file.Name(), err)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sha256Hex {
		return host.Fail(v1alpha1.ReasonHashMismatch, "the image %s has the sha256 %s, not %s as fixed at the trigger", file.Name(), got, sha256Hex)
	}
	return nil
}

type contextReader struct {
	ctx  context.Context
	from io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}
