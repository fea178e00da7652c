package artifacts

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// downloadTries is how often a download is continued in one run.
const downloadTries = 5

// share is which of a step's downloads one is.
type share struct {
	number, of int
	name       string
}

var sum256 = regexp.MustCompile(`^[0-9a-f]{64}$`)

// readSum reads a file that holds one SHA-256, perhaps with a name after it.
func (c *Cache) readSum(ctx context.Context, address string) (string, error) {
	text, err := c.read(ctx, address)
	if err != nil {
		return "", err
	}
	words := strings.Fields(text)
	if len(words) == 0 || !sum256.MatchString(words[0]) {
		return "", fmt.Errorf("%s is not a SHA-256: %.80q", address, text)
	}
	return words[0], nil
}

// read returns a small file.
func (c *Cache) read(ctx context.Context, address string) (string, error) {
	response, err := get(ctx, address, 0)
	if err != nil {
		return "", fmt.Errorf("downloading %s: %w", address, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))
	if err != nil {
		return "", fmt.Errorf("downloading %s: %w", address, err)
	}
	return string(text), nil
}

// download writes to out the file that has that SHA-256. What an earlier try or a killed
// run has downloaded is used: it is kept under the SHA-256.
func (c *Cache) download(ctx context.Context, address, sum, out string, which share) error {
	folder := filepath.Join(c.Dir, "download")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	partial := filepath.Join(folder, sum)
	for try := 1; ; try++ {
		err := c.more(ctx, address, partial, which)
		if err == nil {
			break
		}
		if try == downloadTries || ctx.Err() != nil || errors.As(err, new(refused)) {
			return fmt.Errorf("downloading %s: %w", address, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(try) * retryAfter):
		}
	}
	got, err := sumOf(partial)
	if err != nil {
		return err
	}
	if got != sum {
		return errors.Join(fmt.Errorf("%s has another SHA-256 than published (%s instead of %s): try again, or another mirror", address, got, sum), os.Remove(partial))
	}
	return os.Rename(partial, out)
}

// retryAfter is multiplied with the number of tries.
var retryAfter = time.Second

// more downloads what is missing at the end of a file.
func (c *Cache) more(ctx context.Context, address, file string, which share) error {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	have, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	response, err := get(ctx, address, have)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusRequestedRangeNotSatisfiable:
		return nil // all of it is there
	case http.StatusOK:
		if have, err = 0, out.Truncate(0); err != nil {
			return err
		}
		if _, err := out.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	progress := &downloaded{cache: c, share: which, have: have, all: have + response.ContentLength}
	_, err = io.Copy(io.MultiWriter(out, progress), response.Body)
	return err
}

func sumOf(file string) (string, error) {
	in, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer in.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, in); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}
