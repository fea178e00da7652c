package send

import (
	"net/url"
	"strings"

	"github.com/kubectl-upgrade/kubectl-upgrade/pkg/cluster/notice/wire"
)

// The words of an agent, a kubelet or a server are in a notice: its readers see them as they are,
// and they mention no one, link nothing, and have no markup. A template's own markup stays.

// joiner is an invisible character that parts what a service would take for a mention or an address.
const joiner = "\u2060"

// apart parts mentions such as @channel and <users/all>, addresses, and links.
var apart = strings.NewReplacer(parted...)

var parted = []string{"@", "@" + joiner, "<", "<" + joiner, "://", ":" + joiner + "//", "](", "]" + joiner + "("}

// inHTML is also what Slack asks for: https://docs.slack.dev/messaging/formatting-message-text
var inHTML = strings.NewReplacer(append([]string{"&", "&amp;", "<", "&lt;", ">", "&gt;"}, parted...)...)

// Each service lets other letters be escaped, and shows the backslash before those that it does not.
// https://core.telegram.org/bots/api#formatting-options
var (
	inMarkdown          = markdown("\\`*_~[]()|#>")
	inTelegram          = markdown("_*`[")
	inTelegramMarkdown2 = markdown("\\_*[]()~`>#+-=|{}.!")
)

func markdown(letters string) *strings.Replacer {
	var pairs []string
	for _, letter := range letters {
		pairs = append(pairs, string(letter), "\\"+string(letter))
	}
	return strings.NewReplacer(append(pairs, parted...)...)
}

// escapes are those of each service. A service that shows the text as it is has none.
var escapes = map[string]*strings.Replacer{
	"bark": nil, "discord": inMarkdown, "generic": nil, "gotify": nil, "googlechat": apart, "hangouts": apart, "ifttt": nil,
	"join": nil, "lark": apart, "logger": nil, "matrix": apart, "mattermost": inMarkdown, "notifiarr": inMarkdown, "ntfy": nil,
	"opsgenie": nil, "pagerduty": nil, "pushbullet": nil, "pushover": nil, "rocketchat": inMarkdown, "signal": nil, "slack": inHTML,
	"smtp": nil, "teams": inMarkdown, "telegram": apart, "wecom": apart, "zulip": apart,
}

// escapeFor returns the escapes for an address; nil: there are none.
func escapeFor(address string) *strings.Replacer {
	scheme, rest, _ := strings.Cut(address, "://")
	scheme, _, _ = strings.Cut(scheme, "+") // as in generic+https
	_, query, _ := strings.Cut(rest, "?")
	options := map[string]string{}
	values, _ := url.ParseQuery(query) // what it cannot read the service cannot read either
	for key := range values {
		options[strings.ToLower(key)] = strings.ToLower(values.Get(key))
	}
	switch mode := options["parsemode"]; {
	case scheme == "telegram" && (mode == "html" || mode == "" && options["title"] != ""):
		return inHTML
	case scheme == "telegram" && mode == "markdownv2":
		return inTelegramMarkdown2
	case scheme == "telegram" && mode == "markdown":
		return inTelegram
	case scheme == "smtp" && options["usehtml"] != "" && options["usehtml"] != "no":
		return inHTML
	}
	return escapes[scheme]
}

// escaped returns the fields as text for a service. The command to try next is ours.
func escaped(d wire.Data, by *strings.Replacer) wire.Data {
	if by == nil {
		return d
	}
	next := "`" + d.Next + "` (id " + d.ID + ")"
	text, ours := strings.CutSuffix(d.Text, next)
	if !ours {
		text, next = d.Text, ""
	}
	d.Text = by.Replace(text) + next
	for _, field := range []*string{&d.From, &d.Version, &d.Node, &d.Reason, &d.Message} {
		*field = by.Replace(*field)
	}
	return d
}
