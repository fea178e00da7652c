package render_test

import (
	"testing"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/doctor"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/migrate"
	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/plugin/render"
)

func TestMigrationScreens(t *testing.T) {
	result := migrate.FromKured(migrate.Kured{
		Container: migrate.Container{Args: []string{
			"--reboot-days=fri", "--start-time=22:00", "--end-time=6:00", "--force-reboot", "--notify-url=slack://a", "--reboot-command=/usr/bin/my-own-script --with many --flags and a long name",
		}},
		ScheduleName: "kured", Now: now,
	})
	plain := render.Options{Now: now, Zone: time.UTC}
	at := func(width int) render.Options { o := plain; o.Width = width; return o }
	colored := at(140)
	colored.Color = true
	golden(t, "migrate", render.Migration(result, plain))
	golden(t, "migrate-80", render.Migration(result, at(80)))
	golden(t, "migrate-140", render.Migration(result, at(140)))
	golden(t, "migrate-color", render.Migration(result, colored))

	from, until := now, now.AddDate(0, 0, 14)
	theirs := result.Window.Openings(from, until)
	golden(t, "windows-same", render.SideBySide("kured", migrate.Compare(theirs, theirs), until, at(80)))
	golden(t, "windows-differ", render.SideBySide("kured", migrate.Compare(theirs, theirs[:1]), until, at(80)))
	golden(t, "windows-60", render.SideBySide("kured", migrate.Compare(theirs, theirs[:1]), until, at(60)))
	golden(t, "windows-neither", render.SideBySide("kured", nil, until, at(80)))
}

func TestDiagnosisScreens(t *testing.T) {
	d := doctor.Diagnosis{Verdict: doctor.Fail, Checks: []doctor.Line{
		{Check: "api-server", Level: doctor.OK, Message: "The API server runs v1.34.3"},
		{Check: "source", Level: doctor.Fail, Message: "The coordinator cannot read the index of images: no such host", Fix: "Look at spec.source of UpgradePolicy cluster"},
		{Check: "rights", Level: doctor.Warn, Message: "You may not freeze (create maintenanceschedules)", Fix: "Ask an administrator"},
		{Check: "rights", Level: doctor.Warn, Message: "You may not configure (update upgradepolicies)", Fix: "Ask an administrator"},
		{Check: "clock", Level: doctor.Unknown, Message: "The API server's clock is not known"},
	}}
	plain := render.Options{Now: now, Zone: time.UTC}
	narrow, colored := plain, plain
	narrow.Width, colored.Width, colored.Color = 80, 140, true
	golden(t, "doctor", render.Diagnosis(d, plain))
	golden(t, "doctor-80", render.Diagnosis(d, narrow))
	golden(t, "doctor-color", render.Diagnosis(d, colored))
}
