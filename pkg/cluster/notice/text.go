package notice

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/api/v1alpha1"
)

// Data are the fields of a template. docs/gates.md describes them.
type Data struct {
	ID      string // the same whenever the event is sent again
	Event   string
	Time    string // RFC 3339, in UTC
	Upgrade string // the ClusterUpgrade's name
	Type    string // Patch, Minor, Reboot
	From    string
	Version string
	Outcome string
	Done    int32
	Total   int32
	Node    string
	Reason  string
	Message string
	Next    string // the command to try next
	Text    string // all of this in one sentence
}

// NewData returns the fields for an event of the upgrade.
func NewData(u *v1alpha1.ClusterUpgrade, r v1alpha1.NoticeRecord) Data {
	kind := u.Status.Type
	if kind == "" {
		kind = u.Spec.Type
	}
	d := Data{
		ID: r.ID, Event: string(r.Event), Time: r.Time.UTC().Format(time.RFC3339),
		Upgrade: u.Name, Type: string(kind), From: u.Status.FromVersion, Version: u.Spec.Version,
		Outcome: string(u.Status.Outcome), Done: u.Status.Nodes.Done, Total: u.Status.Nodes.Total,
		Node: r.Node, Reason: string(r.Reason), Message: r.Message,
	}
	d.Next = next(&d, r)
	d.Text = d.sentence(r.Event, u)
	return d
}

// next returns the command that helps a person who reads about the event.
func next(d *Data, r v1alpha1.NoticeRecord) string {
	switch {
	case r.Event == v1alpha1.NoticeEnded:
		return "kubectl upgrade report " + d.Upgrade
	case r.Event == v1alpha1.NoticeAnnounced:
		return "kubectl upgrade suspend " + d.Upgrade
	case r.Reason == v1alpha1.ReasonApprovalRequired:
		return "kubectl upgrade approve " + d.Upgrade
	case r.Reason == v1alpha1.ReasonSuspended:
		return "kubectl upgrade resume " + d.Upgrade
	case r.Reason == v1alpha1.ReasonPreflight:
		return strings.TrimSpace("kubectl upgrade plan " + d.Version)
	case r.Node != "" && (r.Event == v1alpha1.NoticeNodeFailed || r.Event == v1alpha1.NoticeStalled):
		return "kubectl upgrade status " + r.Node + " --log"
	}
	return "kubectl upgrade status"
}

// sentence returns the default text.
func (d *Data) sentence(event v1alpha1.NoticeEvent, u *v1alpha1.ClusterUpgrade) string {
	name := "Upgrade " + d.Upgrade
	switch {
	case d.From != "" && d.Version != "":
		name += fmt.Sprintf(" (%s to %s)", d.From, d.Version)
	case d.Version != "":
		name += " to " + d.Version
	}
	done := fmt.Sprintf("%d of %d nodes done", d.Done, d.Total)
	because := d.Message
	if d.Reason != "" {
		because = d.Reason + ": " + d.Message
	}
	text := ""
	switch event {
	case v1alpha1.NoticeAnnounced:
		text = fmt.Sprintf("%s is announced: %s. To stop it:", name, d.Message)
	case v1alpha1.NoticeBegan:
		text = fmt.Sprintf("%s began: %s of %d. To follow it:", name, d.Message, d.Total)
	case v1alpha1.NoticeNodeFailed:
		text = fmt.Sprintf("%s: node %s failed, %s. Next:", name, d.Node, because)
	case v1alpha1.NoticeStalled:
		text = fmt.Sprintf("%s is STALLED and needs a person, %s. %s. Next:", name, done, because)
	case v1alpha1.NoticeWaiting:
		text = fmt.Sprintf("%s waits, %s. %s. Next:", name, done, because)
	case v1alpha1.NoticeEnded:
		took := ""
		if u.Status.TriggerTime != nil && u.Status.CompletionTime != nil {
			took = " after " + u.Status.CompletionTime.Sub(u.Status.TriggerTime.Time).String()
		}
		text = fmt.Sprintf("%s ended: %s%s, %s. %s. Details:", name, d.Outcome, took, done, d.Message)
	}
	return fmt.Sprintf("%s `%s` (id %s)", text, d.Next, d.ID)
}

// maxText is the maximum length of what is sent, in bytes.
const maxText = 4096

// Check returns why a template cannot be used.
func Check(text string) error {
	_, err := parsed(text)
	return err
}

func parsed(text string) (*template.Template, error) {
	if text == "" {
		text = "{{.Text}}"
	}
	t, err := template.New("template").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("it does not parse: %w", err)
	}
	return t, nil
}

// Render returns the text of a notice, cut to its maximum length.
func Render(text string, d Data) (string, error) {
	t, err := parsed(text)
	if err != nil {
		return "", err
	}
	var out limited
	if err := t.Execute(&out, d); err != nil && !errors.Is(err, errFull) {
		return "", fmt.Errorf("it cannot be filled in: %w", err)
	}
	return strings.ToValidUTF8(out.String(), ""), nil
}

var errFull = errors.New("the text is longer than is sent")

// limited is a buffer for maxText bytes.
type limited struct{ strings.Builder }

func (l *limited) Write(data []byte) (int, error) {
	if room := maxText - l.Len(); len(data) > room {
		_, _ = l.Builder.Write(data[:room]) // a Builder returns no error
		return room, errFull
	}
	return l.Builder.Write(data)
}
