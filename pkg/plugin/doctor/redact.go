package doctor

import "regexp"

var (
	// userInfo is the user and password of an address.
	userInfo = regexp.MustCompile(`://[^/\s@"']+@`)
	// query is what follows the path of an address: a token, often.
	query = regexp.MustCompile(`(://[^\s"'?#]+)[?#][^\s"']+`)
	// bearer is a token in a header, or an assignment to a name that says so.
	bearer = regexp.MustCompile(`(?i)((?:bearer|basic|token|password|passwd|secret|api-?key)["']?\s*[ =:]\s*["']?)[^\s"',;]{6,}`)
)

// redact removes what may be a password or a token.
func redact(text string) string {
	text = userInfo.ReplaceAllString(text, "://(removed)@")
	text = query.ReplaceAllString(text, "$1?(removed)")
	return bearer.ReplaceAllString(text, "$1(removed)")
}
