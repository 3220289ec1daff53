package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	check := flag.Bool("check", false, "write nothing; fail when a file differs")
	flag.Parse()
	if err := generate(*check); err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}

// generate writes, or compares, every generated file.
func generate(check bool) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	files, err := Files(root)
	if err != nil {
		return err
	}
	if check {
		return Differences(root, files)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Files are the generated files by their path below the module's root.
func Files(root string) (map[string][]byte, error) {
	files, err := schemas(root)
	if err != nil {
		return nil, err
	}
	files["docs/errors.md"] = errorPage()
	return files, nil
}

// Differences is an error that names every file which is missing, stale, or a
// schema of a message that is no more.
func Differences(root string, files map[string][]byte) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		have, err := os.ReadFile(filepath.Join(root, name))
		switch {
		case err != nil:
			errs = append(errs, err)
		case !bytes.Equal(have, files[name]):
			errs = append(errs, fmt.Errorf("%s differs from the Go types: run make generate", name))
		}
	}
	present, err := filepath.Glob(filepath.Join(root, schemaDir, "*.json"))
	if err != nil {
		return err
	}
	for _, path := range present {
		if _, ok := files[schemaDir+"/"+filepath.Base(path)]; !ok {
			errs = append(errs, fmt.Errorf("%s/%s describes no message: remove it", schemaDir, filepath.Base(path)))
		}
	}
	return errors.Join(errs...)
}

// moduleRoot is the folder of go.mod, found upwards from the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod here or above")
		}
		dir = parent
	}
}
