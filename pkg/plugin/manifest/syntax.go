package manifest

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// notReadable is the message for a text that is neither YAML nor JSON.
func notReadable(language, why string) string {
	return fmt.Sprintf("it is not valid %s: %s", language, why)
}

// jsonWords says what is wrong in JSON.
func jsonWords(err error) string {
	if text := err.Error(); text != "unexpected EOF" && text != "unexpected end of JSON input" {
		return text
	}
	return "it ends too early"
}

// parserPrefix is what the parser of YAML writes before a message. Its line is often that of
// something before, or one too low.
var parserPrefix = regexp.MustCompile(`^(error converting YAML to JSON: )?(yaml: )?(unmarshal errors:\s*)?(line \d+: )?`)

// syntaxError returns the error of the parser of YAML with the line where it is.
func (d *document) syntaxError(err error) error {
	message := notReadable("YAML", yamlWords(parserPrefix.ReplaceAllString(err.Error(), "")))
	if bytes.Contains(d.text, []byte("{{")) {
		message += "; it looks like a template: render it first, such as by `helm template`"
	}
	return &Problem{Document: 1, Line: d.line + d.faultyLine() - 1, Message: message}
}

// yamlWords replaces messages that speak of Go's types.
func yamlWords(message string) string {
	switch {
	case strings.HasPrefix(message, "invalid map key"):
		return "a key is an object or a list, and must be text"
	case strings.Contains(message, "json: "), strings.Contains(message, "interface {}"):
		return "it has a value that JSON does not have"
	}
	return strings.Join(strings.Fields(message), " ")
}

// maxTries limits how much a search for the faulty line reads.
const maxTries = 4 << 20

// faultyLine returns the first line with which the text cannot be read: what is before can be. A
// bracket or quote that is not closed makes it the line where that begins.
func (d *document) faultyLine() int {
	var ends []int // of lines
	for i, c := range d.text {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	if len(ends) == 0 || ends[len(ends)-1] < len(d.text) {
		ends = append(ends, len(d.text))
	}
	tried := 0
	reads := func(lines int) bool {
		if lines == 0 {
			return true
		}
		tried += ends[lines-1]
		_, err := yaml.YAMLToJSON(d.text[:ends[lines-1]])
		return err == nil
	}
	// Lines to begin cannot be read, whatever follows. A text that is cut in a bracket cannot be
	// read, either, so a search that only halves could end at a bracket which is closed later.
	good, bad := 0, len(ends)
	for good+1 < bad && tried < maxTries {
		middle := (good + bad) / 2
		if reads(middle) {
			good = middle
			continue
		}
		if later := d.readsAfter(reads, middle, bad); later > 0 {
			good = later
			continue
		}
		bad = middle
	}
	return bad
}

// closesWithin is how many lines a bracket, or a quote, mostly has.
const closesWithin = 8

// readsAfter returns a number of lines after which the text can be read again; 0: there is none
// nearby.
func (d *document) readsAfter(reads func(int) bool, from, before int) int {
	for lines := from + 1; lines < min(from+closesWithin, before); lines++ {
		if reads(lines) {
			return lines
		}
	}
	return 0
}
