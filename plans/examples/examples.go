// Package examples holds the sample plans that come with the program. They parse without an error or a warning, and each is a plan
// that a reviewer can read from top to bottom. The package has no state but the embedded files.
package examples

import "embed"

//go:embed *.yaml
var files embed.FS

// Names lists the examples; the first is the default.
func Names() []string {
	return []string{"tls13-canary.yaml", "tls13-in-place.yaml", "tls13-off.yaml", "tls10-tls11-off.yaml"}
}

// Source returns the text of an example; ok is false when there is none of that name.
func Source(name string) (text string, ok bool) {
	b, err := files.ReadFile(name)
	return string(b), err == nil
}
