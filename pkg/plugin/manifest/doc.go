// Package manifest reads files of Kubernetes objects.
//
// It promises three things. A file is read whole: every document, every JSON object, every item
// of a list, or an error. A file is checked as the API server checks it: by the schema of the
// kind's definition, with unknown fields refused. And an error says where: the document, if the
// file has several, the line of the file, and the field.
//
// Paths locate a field, not its name or value, as those may occur elsewhere, too.
package manifest
