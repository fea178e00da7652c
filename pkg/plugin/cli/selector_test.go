package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestParseSelector checks that a selector which an object keeps means what kubectl's -l means.
func TestParseSelector(t *testing.T) {
	for text, want := range map[string]string{
		"a=b":                      `{"matchLabels":{"a":"b"}}`,
		"a==b,c=":                  `{"matchLabels":{"a":"b","c":""}}`,
		"a=b,a=b":                  `{"matchLabels":{"a":"b"}}`,
		"a!=b,c in (e,d),!f,g":     `{"matchExpressions":[{"key":"a","operator":"NotIn","values":["b"]},{"key":"c","operator":"In","values":["d","e"]},{"key":"f","operator":"DoesNotExist"},{"key":"g","operator":"Exists"}]}`,
		"a notin (b),example.io/c": `{"matchExpressions":[{"key":"a","operator":"NotIn","values":["b"]},{"key":"example.io/c","operator":"Exists"}]}`,
		"a=b,a=c":                  "no node has two values of the label a: for either write 'a in (b, c)'",
		"a>1":                      "an object can only keep =, !=, in, notin, a key, and !key",
		"a in (b":                  "unable to parse requirement",
		",":                        "found ','",
	} {
		got, err := parseSelector(text)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got error %v, want %s", text, err, want)
			}
			continue
		}
		if printed, err := json.Marshal(got); err != nil || string(printed) != want {
			t.Errorf("%s: got %s (%v), want %s", text, printed, err, want)
		}
	}
}
