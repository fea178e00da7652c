package cluster

import (
	"encoding/json"
	"fmt"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"
)

// merge changes the documents of kubeadm's configuration by those of changes, as JSON merge patches (RFC 7396): a document
// changes the one of its kind. A kind that config does not have is left out, as each file of kubeadm has other ones.
func merge(config, changes string) (string, error) {
	if changes == "" {
		return config, nil
	}
	patches := map[string][]byte{}
	for _, document := range splitDocuments(changes) {
		text, kind, err := parse(document)
		if err != nil {
			return "", fmt.Errorf("reading the changes of kubeadm's configuration: %w", err)
		}
		patches[kind] = text
	}
	var merged []string
	for _, document := range splitDocuments(config) {
		text, kind, err := parse(document)
		if err != nil {
			return "", err
		}
		if patch := patches[kind]; patch != nil {
			if text, err = jsonpatch.MergePatch(text, patch); err != nil {
				return "", fmt.Errorf("changing the %s: %w", kind, err)
			}
		}
		out, err := yaml.JSONToYAML(text)
		if err != nil {
			return "", err
		}
		merged = append(merged, string(out))
	}
	return strings.Join(merged, "---\n"), nil
}

// splitDocuments returns the YAML documents of a text that are not empty.
func splitDocuments(text string) (all []string) {
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		if strings.TrimSpace(document) != "" {
			all = append(all, document)
		}
	}
	return all
}

// parse returns a document as JSON, and its kind.
func parse(document string) (text []byte, kind string, err error) {
	if text, err = yaml.YAMLToJSON([]byte(document)); err != nil {
		return nil, "", err
	}
	var of struct{ Kind string }
	if err = json.Unmarshal(text, &of); err == nil && of.Kind == "" {
		err = fmt.Errorf("a document has no kind: %s", strings.TrimSpace(document))
	}
	return text, of.Kind, err
}
