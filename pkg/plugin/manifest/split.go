package manifest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// document is one document of a file.
type document struct {
	number int // in the file, from 1
	of     int // how many documents the file has
	line   int // of the file, in which the text begins
	text   []byte
	isJSON bool
	value  any

	parsed bool // root is known
	root   *yamlv3.Node
}

// split returns the documents of a file that are not empty.
func split(text []byte) ([]*document, error) {
	text, err := toUTF8(text)
	if err != nil {
		return nil, err
	}
	var all []*document
	for _, d := range chunks(text) {
		found, err := d.documents()
		if err != nil {
			var problem *Problem
			if errors.As(err, &problem) {
				problem.Document = len(all) + problem.Document
			}
			return nil, err
		}
		for _, one := range found {
			if one.value != nil {
				all = append(all, one)
				one.number = len(all)
			}
		}
	}
	for _, d := range all {
		d.of = len(all)
	}
	return all, nil
}

var byteOrderMark = []byte("\ufeff")

// toUTF8 returns the text in UTF-8. Windows' PowerShell writes UTF-16.
func toUTF8(text []byte) ([]byte, error) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	}
	if order != nil && len(text)%2 == 0 {
		units := make([]uint16, len(text)/2)
		for i := range units {
			units[i] = order.Uint16(text[2*i:])
		}
		text = []byte(string(utf16.Decode(units)))
	}
	for rest, line := text, 1; len(rest) > 0; line++ {
		one, after, _ := bytes.Cut(rest, []byte("\n"))
		if !utf8.Valid(one) || bytes.IndexByte(one, 0) >= 0 {
			return nil, &Problem{Line: line, Message: "it is no text in UTF-8"}
		}
		rest = after
	}
	return text, nil
}

// chunks splits the text where YAML has a document begin or end: at lines that begin with ---
// or are "...". A chunk may still be several JSON objects, one after the other.
func chunks(text []byte) []*document {
	all := []*document{{line: 1}}
	begun := false // the last chunk has more than comments and directives
	directives := false
	line := 0
	for len(text) > 0 {
		line++
		length := bytes.IndexByte(text, '\n') + 1
		if length == 0 {
			length = len(text)
		}
		one := bytes.TrimPrefix(text[:length], byteOrderMark)
		text = text[length:]
		last := all[len(all)-1]
		switch {
		case isMarker(one, "---"):
			if begun || !directives {
				last = &document{line: line}
				all = append(all, last)
			}
			begun, directives = true, false
		case isMarker(one, "..."):
			all = append(all, &document{line: line + 1})
			begun, directives = false, false
			continue
		default:
			bare := bytes.TrimSpace(one)
			directives = directives || !begun && bytes.HasPrefix(bare, []byte("%"))
			begun = begun || len(bare) > 0 && bare[0] != '#' && bare[0] != '%'
		}
		last.text = append(last.text, one...)
	}
	return all
}

// isMarker reports whether the line begins or ends a document.
func isMarker(line []byte, marker string) bool {
	rest, is := bytes.CutPrefix(line, []byte(marker))
	return is && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// documents returns what the chunk consists of: JSON objects, one after the other, or one
// document of YAML.
func (d *document) documents() ([]*document, error) {
	d.number = 1
	content := d.text
	if isMarker(content, "---") {
		content = content[len("---"):]
	}
	content = bytes.TrimLeft(content, " \t\r\n")
	if len(content) == 0 {
		return nil, nil
	}
	var jsonErr error
	if content[0] == '{' || content[0] == '[' {
		var all []*document
		if all, jsonErr = d.jsonValues(len(d.text) - len(content)); jsonErr == nil {
			return all, nil
		}
		if len(all) > 0 {
			return nil, jsonErr
		}
	}
	if problem := d.checkWhole(); problem != nil {
		return nil, problem
	}
	object, err := yaml.YAMLToJSON(d.text)
	switch {
	case err != nil && jsonErr != nil && looksLikeJSON(content):
		return nil, jsonErr
	case err != nil:
		return nil, d.syntaxError(err)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(object, &d.value); err != nil {
		return nil, &Problem{Document: 1, Line: d.line, Message: err.Error()}
	}
	return []*document{d}, nil
}

// looksLikeJSON reports whether the text begins as JSON does, and not as YAML's {a: b}.
func looksLikeJSON(text []byte) bool {
	rest := bytes.TrimLeft(text[1:], " \t\r\n")
	return len(rest) == 0 || bytes.IndexByte([]byte(`"{[}]`), rest[0]) >= 0
}

// jsonValues returns the JSON values of the text from the offset on. With an error it returns
// those before.
func (d *document) jsonValues(offset int) ([]*document, error) {
	var all []*document
	lineOf := d.lines()
	decoder := json.NewDecoder(bytes.NewReader(d.text[offset:]))
	for decoder.More() {
		var raw json.RawMessage
		begin := offset + int(decoder.InputOffset())
		if err := decoder.Decode(&raw); err != nil {
			at := len(bytes.TrimRight(d.text, " \t\r\n"))
			if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
				at = min(at, offset+int(syntax.Offset))
			}
			return all, &Problem{Document: len(all) + 1, Line: lineOf(at), Message: notReadable("JSON", jsonWords(err))}
		}
		begin += len(d.text[begin:]) - len(bytes.TrimLeft(d.text[begin:], " \t\r\n"))
		one := &document{number: len(all) + 1, line: lineOf(begin), text: raw, isJSON: true}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &one.value); err != nil {
			return all, &Problem{Document: one.number, Line: one.line, Message: notReadable("JSON", err.Error())}
		}
		all = append(all, one)
	}
	// More is false before a bracket that closes nothing, too.
	if rest := bytes.TrimSpace(d.text[offset+int(decoder.InputOffset()):]); len(rest) > 0 {
		return all, &Problem{Document: len(all) + 1, Line: lineOf(offset + int(decoder.InputOffset()) + 1), Message: notReadable("JSON", fmt.Sprintf("%q closes nothing", rest[:1]))}
	}
	return all, nil
}

// lines returns a function that returns the line of the file for an offset in the text. Offsets
// have to grow from call to call.
func (d *document) lines() func(offset int) int {
	at, line := 0, d.line
	return func(offset int) int {
		offset = min(max(offset, at), len(d.text))
		line += bytes.Count(d.text[at:offset], []byte("\n"))
		at = offset
		return line
	}
}
