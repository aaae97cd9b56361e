package command_test

import (
	"bytes"
	"context"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nsgate/nsgate/gate/internal/cli"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// TestFlagsAreOfTheCommand keeps the flags of nsgate out of messages of the packages below it: a Go program that
// imports them has none. Flags of nsys, ncu, nvidia-smi and git with the same name are theirs.
func TestFlagsAreOfTheCommand(t *testing.T) {
	foreign := []string{"--format", "--launch-count", "--launch-skip", "--nvtx-include", "--output", "--quiet",
		"--report", "--section", "--set", "--version"}
	ours := make(map[string]bool)
	for _, command := range []string{"record", "check", "compare", "calibrate", "accept", "report", "doctor", "init"} {
		var help bytes.Buffer
		cli.Main(context.Background(), []string{command, "--help", "all"}, cli.Streams{Out: &help, Err: &help})
		for _, flag := range regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z-]+)`).FindAllStringSubmatch(help.String(),
			-1) {
			ours[flag[1]] = !slices.Contains(foreign, flag[1])
		}
	}
	if !ours["--step"] || !ours["--verbose"] || len(ours) < 30 {
		t.Fatalf("the flags are %v", ours)
	}
	flag := regexp.MustCompile(`--[a-z][a-z-]+`)
	strung := 0
	filepath.WalkDir("../../gate", func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") ||
			strings.Contains(name, "internal/cli/") || strings.Contains(name, "internal/manual/") {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files := token.NewFileSet()
		file := files.AddFile(name, -1, len(text))
		var s scanner.Scanner
		s.Init(file, text, nil, 0)
		for {
			pos, tok, literal := s.Scan()
			if tok == token.EOF {
				return nil
			}
			if tok != token.STRING {
				continue
			}
			strung++
			for _, f := range flag.FindAllString(literal, -1) {
				if ours[f] {
					t.Errorf("%s: %s names %s, a flag of the command line", files.Position(pos), literal, f)
				}
			}
		}
	})
	if strung < 1000 {
		t.Errorf("%d strings were looked at", strung)
	}
}

// A next step that names its flags already stays.
func TestWayOut(t *testing.T) {
	for _, tt := range []struct {
		key        model.Kind
		next, want string
	}{
		{"other-step", "name the step", "name the step (--step)"},
		{"other-step", "name the step (--step)", "name the step (--step)"},
		{"other-step", "", ""},
		{"other-work", measure.Unknown, measure.Unknown},
	} {
		if got := cli.WayOut(tt.key, tt.next); got != tt.want {
			t.Errorf("WayOut(%q, %q) = %q, want %q", tt.key, tt.next, got, tt.want)
		}
	}
}
