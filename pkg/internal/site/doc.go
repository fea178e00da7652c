// site writes the pages of this repository as a website: `make docs`.
//
// It begins with README.md and follows links. Each Markdown file becomes a page, and each other
// file or folder that a page links to becomes one that shows it. So a link works on the site as
// it does where the repository is browsed. docs/README.md is the menu. A version is a folder.
package main
