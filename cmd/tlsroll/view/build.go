// Package view is what commands print: progress lines, tables and JSON. The same run gives the same words everywhere. It reads runs and
// plans and changes neither.
package view

import (
	"io"
	"runtime/debug"
)

// Writer is where output goes.
type Writer = io.Writer

// BuildInfo is what version prints.
type BuildInfo struct {
	Schema   string `json:"schema"`
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
}

// Build reads what the Go linker wrote into the binary.
func Build() BuildInfo {
	b := BuildInfo{Schema: "tlsroll/version.v1", Version: "devel", Revision: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Go = info.GoVersion
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value
		}
	}
	return b
}

// Version is the version alone, for journals.
func Version() string { return Build().Version }
