package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// printPrograms says of each program how many packages it links, of the standard library, of
// this module and of others, and with sizes how large it is without symbols.
func printPrograms(root string, sizes bool) error {
	mains, err := filepath.Glob(filepath.Join(root, "cmd", "*", "main.go"))
	if err != nil {
		return err
	}
	module, err := goCommand(root, "list", "-m")
	if err != nil {
		return err
	}
	ours := strings.TrimSpace(string(module))
	dir, err := os.MkdirTemp("", "house-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Println("program              packages  standard  of ours  of others")
	for _, file := range mains {
		name := filepath.Base(filepath.Dir(file))
		out, err := goCommand(root, "list", "-deps", "-f", "{{.Standard}} {{.ImportPath}}", "./cmd/"+name)
		if err != nil {
			return err
		}
		var all, standard, own int
		for line := range bytes.Lines(out) {
			all++
			kind, path, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
			switch {
			case kind == "true":
				standard++
			case path == ours || strings.HasPrefix(path, ours+"/"):
				own++
			}
		}
		fmt.Printf("%-20s %8d  %8d  %7d  %9d", name, all, standard, own, all-standard-own)
		if sizes {
			n, err := programSize(root, filepath.Join(dir, name), "./cmd/"+name)
			if err != nil {
				return err
			}
			fmt.Printf("  %5.1f MB", float64(n)/1e6)
		}
		fmt.Println()
	}
	return nil
}

// programSize builds a program as a release does, and gives its size in bytes.
func programSize(root, file, pkg string) (int64, error) {
	if _, err := goCommand(root, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", file, pkg); err !=
		nil {
		return 0, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
