package main

import "encoding/json"

// searchIndex returns the script with what search.js searches: the questions of the index, and
// each section of each page. It is a script so that it also loads from a folder without a server.
func (s *site) searchIndex() ([]byte, error) {
	var all []section
	for _, m := range s.menu() {
		for _, question := range m.questions {
			name, fragment := pathOf(question.URL)
			question.URL = outPath(s.readme(name))
			if fragment != "" {
				question.URL += "#" + fragment
			}
			all = append(all, question)
		}
	}
	for _, p := range s.pages {
		for _, part := range p.sections {
			part.URL = outPath(p.path) + part.URL
			all = append(all, part)
		}
	}
	list, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return append(append([]byte("const searchIndex = "), list...), ";\n"...), nil
}
