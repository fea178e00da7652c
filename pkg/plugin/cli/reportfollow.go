package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/follow"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/view"
)

// rewriteEvery is how often a report is rewritten at most. A report that takes long to make
// is rewritten less often.
const rewriteEvery = 2 * time.Second

// reportFile is a Display that rewrites a report.
type reportFile struct {
	*reporting
	records []v1alpha1.UpgradeRecord
	next    time.Time // when the file may be rewritten
	problem error     // why it could not be
}

// follow rewrites the report until the upgrade has ended. The last time it reads the
// records, which are written when an upgrade ends.
func (r *reporting) follow(ctx context.Context, reader *reader, first view.Objects, records []v1alpha1.UpgradeRecord) error {
	u := first.Upgrade(r.name)
	if u == nil || u.Status.Outcome != "" {
		return nil
	}
	fmt.Fprintf(r.ErrOut, "Rewriting %s until the upgrade has ended. Ctrl-C stops that, not the upgrade.\n", r.file)
	file := &reportFile{reporting: r, records: records}
	f := follow.Follower{
		Kinds: reader.kinds, Core: reader.core, Display: file, Now: r.now, Timeout: r.timeout.limit, Upgrade: r.name, Programs: reader.programs,
		Picture: func(render.Status) (string, bool, error) { return "", true, file.problem },
	}
	ended := f.Run(ctx, first)
	if errors.Is(ended, context.Canceled) || file.problem != nil {
		return ended
	}
	last, err := reader.read(ctx)
	if err != nil {
		return errors.Join(ended, err)
	}
	s := last.Snapshot()
	if s.Records, err = reader.records(ctx); err != nil {
		return errors.Join(ended, err)
	}
	if last.Upgrade(r.name) == nil {
		return ended // it was deleted: the file keeps what was last known
	}
	return errors.Join(ended, r.write(s, r.now()))
}

// Show is part of Display.
func (f *reportFile) Show(frame follow.Frame) {
	began := f.now()
	if began.Before(f.next) || frame.Objects.Upgrade(f.name) == nil {
		return
	}
	s := frame.Objects.Snapshot()
	s.Records = f.records
	f.problem = f.write(s, began)
	f.next = began.Add(max(rewriteEvery, 10*f.now().Sub(began)))
}

// Close is part of Display.
func (f *reportFile) Close() {}

// replaceFile writes a file as a whole: who reads it meanwhile reads the old or the new one.
func replaceFile(file string, text []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	defer os.Remove(temporary.Name()) // fails once it is renamed
	_, err = temporary.Write(text)
	err = errors.Join(err, temporary.Chmod(0o644), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
