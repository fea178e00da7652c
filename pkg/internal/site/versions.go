package main

import (
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

var versionsPage = template.Must(template.New("versions").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Versions of kubectl-upgrade</title>
<link rel="stylesheet" href="{{.Current}}/site.css">
<main class="alone">
<h1>Versions of kubectl-upgrade</h1>
<ul>
{{range .All}}<li><a href="{{.}}/index.html">{{.}}</a></li>
{{end}}</ul>
</main>
</html>
`))

var redirectPage = template.Must(template.New("redirect").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={{.}}/index.html">
<title>kubectl-upgrade</title>
<p><a href="{{.}}/index.html">kubectl-upgrade {{.}}</a></p>
</html>
`))

// writeVersions lists the versions that are in the folder, and leads its visitors to the newest
// release, or where there is none to the version that was just written.
func writeVersions(out, current string) error {
	found, err := filepath.Glob(filepath.Join(out, "*", "site.css"))
	if err != nil {
		return err
	}
	var all []string
	for _, file := range found {
		all = append(all, filepath.Base(filepath.Dir(file)))
	}
	slices.SortFunc(all, func(a, b string) int { return semver.Compare(b, a) })
	var list, redirect strings.Builder
	if err := versionsPage.Execute(&list, map[string]any{"All": all, "Current": current}); err != nil {
		return err
	}
	if released := slices.IndexFunc(all, func(v string) bool { return semver.IsValid(v) && semver.Prerelease(v) == "" }); released >= 0 {
		current = all[released]
	}
	if err := redirectPage.Execute(&redirect, current); err != nil {
		return err
	}
	if err := writeFile(out, "versions.html", []byte(list.String())); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "index.html"), []byte(redirect.String()), 0o644) //nolint:gosec // for a web server to read
}
