package main

import (
	"runtime"
	"runtime/debug"
)

// release is set by the linker in released binaries.
var release string

// version is the release, or the revision that was built.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-modified"
		}
	}
	if revision == "" {
		return info.Main.Version
	}
	return "devel-" + revision + dirty
}

type versionCmd struct{}

// Run prints one line.
func (*versionCmd) Run(a *app) error {
	a.printf("browserfleet %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
