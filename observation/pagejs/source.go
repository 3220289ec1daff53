package pagejs

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"
)

//go:embed src/*.js
var files embed.FS

// WorldName is the isolated world that the script runs in.
const WorldName = "browserfleet"

// Binding is the function of the world that turns a moment in the page into an
// event: Runtime.addBinding with this name, for contexts of WorldName.
const Binding = "browserfleetTick"

// SourceURL names the script in stack traces and in the debugger.
const SourceURL = "browserfleet://isolated-world.js"

// Caller is the function that calls another one by its name. It answers "" when
// the script is not installed in this document: after document.open of a frame
// whose global is used again, or when a page's element took the name.
const Caller = `function (name, args) {
  const api = globalThis.browserfleet;
  return api && api.document === document && typeof api[name] === "function" ? api[name](args) : "";
}`

var source = sync.OnceValue(func() string {
	names, err := fs.Glob(files, "src/*.js")
	if err != nil {
		panic(fmt.Sprintf("pagejs: embedded files: %v", err)) // the pattern is a constant
	}
	var out strings.Builder
	out.WriteString("(() => {\n\"use strict\";\n")
	out.WriteString("if (globalThis.browserfleet && globalThis.browserfleet.document === document) return;\n")
	for _, name := range names {
		part, err := files.ReadFile(name)
		if err != nil {
			panic(fmt.Sprintf("pagejs: embedded file %s: %v", name, err))
		}
		fmt.Fprintf(&out, "\n// ---- %s ----\n%s", name, part)
	}
	out.WriteString("})();\n//# sourceURL=" + SourceURL + "\n")
	return out.String()
})

// Source is the whole script. Running it twice in one document is harmless.
func Source() string { return source() }
