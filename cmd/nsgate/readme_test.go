package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestReadme runs every command of the README's console blocks, in order, and holds the printed output against the
// README's. A line "…" stands for any lines, "…" in a line for any text.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var script, files strings.Builder
	script.WriteString(`env NSGATE_FAKE_PROFILES=$KERNELS/base
env NSGATE_FAKE_BASE_PROFILES=$KERNELS/base
env NSGATE_FAKE_NCU=$WORK/ncu
mkdir ncu
cp $NCU/base.raw.csv ncu/app.csv
cp $NCU/softmax_1.10.raw.csv ncu/slower-app.csv
symlink testdata -> $ROOT/testdata
exec chmod 755 app slower-app
`)
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(readme), -1) {
		for _, part := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			line, output, _ := strings.Cut(part, "\n")
			command, code, _ := strings.Cut(line, "   # exit code ")
			command = strings.Replace(command, "go run ./cmd/nsgate", "nsgate", 1)
			if command == "go test ./..." {
				continue // this test is part of it
			}
			if code == "" {
				code = "0"
			}
			commands++
			if strings.Contains(command, "slower-app") {
				script.WriteString("env NSGATE_FAKE_PROFILES=$KERNELS/saxpy_1.05\n")
			} else {
				script.WriteString("env NSGATE_FAKE_PROFILES=$KERNELS/base\n")
			}
			fmt.Fprintf(&script, "exits %s %s\nprints want.%d\n", code, command, commands)
			fmt.Fprintf(&files, "-- want.%d --\n%s\n", commands, strings.TrimRight(output, "\n"))
		}
	}
	if commands < 8 {
		t.Fatalf("%d commands found in the README", commands)
	}
	for _, name := range []string{"app", "slower-app"} {
		fmt.Fprintf(&files, "-- %s --\n#!/bin/sh\n", name)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "readme.txtar"), []byte(script.String()+files.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p := params(t, dir)
	p.Cmds["prints"] = prints
	testscript.Run(t, p)
}

// prints holds the last command's output against a file with "…" for what is left out.
func prints(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: prints FILE")
	}
	want, got := strings.TrimRight(ts.ReadFile(args[0]), "\n"), strings.TrimRight(ts.ReadFile("stdout"), "\n")
	pattern := regexp.QuoteMeta("\n" + want)
	pattern = strings.ReplaceAll(pattern, "\n…", `(\n[^\n]*)*`)
	pattern = strings.ReplaceAll(pattern, "…", `[^\n]*`)
	// An ellipsis that the output itself prints matches as well.
	if !regexp.MustCompile(`^` + pattern + `$`).MatchString("\n" + got) {
		ts.Fatalf("printed:\n%s\nthe README says:\n%s", got, want)
	}
}
