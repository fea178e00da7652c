// Package page draws a report as one HTML file that needs nothing else: no script, no
// network, no font. Its style sheet is in it, and a Content-Security-Policy allows that
// style sheet by its hash and nothing more, so that what comes from the cluster can only
// ever be text.
//
// HTML turns the report into a document of strings and positions, and page.html draws it.
// A cluster with more than maxRows nodes is drawn in sections that open, each with how many
// of its nodes were done and being upgraded.
package page
