//go:build linux

package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nsgate/nsgate/gate/internal/model"
)

// The first run of each build dumps the programs of XLA, beside the user's flags; nothing of the dump is left.
func TestDump(t *testing.T) {
	hlo, err := filepath.Abs("../read/nsysjax/testdata/jit_step.after_optimizations.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := `echo "$XLA_FLAGS" >>flags
for f in $XLA_FLAGS; do case $f in --xla_dump_to=*) d=${f#*=}; mkdir -p $d
sed "s,/app,$PWD," <` + hlo + ` >$d/module_1.jit_step.sm_9.0a_gpu_after_optimizations.txt; echo x >$d/module_1.ll;; esac; done`
	if err := os.WriteFile(filepath.Join(dir, "work"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XLA_FLAGS", "--xla_gpu_x=1")
	p := session(t, 2)
	build := Build{Command: []string{"./work"}, Dir: dir}
	p.Head, p.Base, p.Dump = build, &build, Dump{XLA: true}
	res, err := Session(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := model.Operation{Kernel: "loop_add_tanh_fusion", Path: "jit(step)/jvp()/add", File: "flax_like.py", Line: 4,
		Function: "<lambda>", Parts: "add convert_element_type exp mul tanh"}
	for i, of := range res.Operations {
		if len(of) < 5 || of[0] != want {
			t.Errorf("side %d: %+v %q", i, of, res.Warnings)
		}
	}
	flags, _ := os.ReadFile(filepath.Join(dir, "flags"))
	if lines := strings.Split(strings.TrimSpace(string(flags)), "\n"); len(lines) != 4 ||
		!strings.HasPrefix(lines[0], "--xla_gpu_x=1 --xla_dump_to=") ||
		strings.Count(string(flags), "--xla_dump_to") != 2 {
		t.Errorf("flags: %q", flags)
	}
	if err := os.WriteFile(filepath.Join(dir, "work"),
		[]byte("#!/bin/sh\ncase $XLA_FLAGS in *_to=*);; *) exit 0;; esac; d=${XLA_FLAGS#*_to=}; d=${d%% *}\n"+
			"mkdir -p $d; head -c 9000000 /dev/zero >$d/x.after_optimizations.txt; ln -s /etc/passwd "+
			"$d/y.after_optimizations.txt\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.Base = nil
	if res, err = Session(t.Context(), p, nil); err != nil || len(res.Operations[1]) > 0 ||
		!strings.Contains(fmt.Sprint(res.Undumped), "kernels of XLA are known by their names alone") {
		t.Errorf("%v %+v", err, res)
	}

	// A directory of the user's is read, and stays; what was there before is not of this run.
	own := t.TempDir()
	t.Setenv("XLA_FLAGS", "--xla_dump_to="+own+" --xla_dump_hlo_as_text")
	old := filepath.Join(own, "module_9.old.after_optimizations.txt")
	if err := errors.Join(os.WriteFile(old, []byte(strings.Repeat(" ", 1<<20)), 0o600),
		os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)),
		os.WriteFile(filepath.Join(dir, "work"), []byte("#!/bin/sh\n"+script+"\n"), 0o755),
		os.Truncate(filepath.Join(dir, "flags"), 0)); err != nil {
		t.Fatal(err)
	}
	if res, err = Session(t.Context(), p, nil); err != nil || len(res.Operations[1]) < 5 ||
		res.Operations[1][0] != want {
		t.Errorf("%v %+v", err, res.Operations)
	}
	flags, _ = os.ReadFile(filepath.Join(dir, "flags"))
	if n := strings.Count(string(flags), "--xla_dump_to"); n != 2 {
		t.Errorf("%d of two runs dump: %s", n, flags)
	}
	if left, _ := os.ReadDir(own); len(left) != 3 {
		t.Errorf("left: %v", left)
	}
}

// A dump that outgrows its room is removed while the program runs.
func TestBoundDump(t *testing.T) {
	dir, ended := filepath.Join(t.TempDir(), "dump-head"), make(chan struct{})
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "a"), make([]byte, 100),
		0o600)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { boundDump(dir, 99, ended); close(done) }()
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the dump stays")
		}
	}
	close(ended)
	<-done
	if _, left := dumped(dir, time.Time{}); left == nil {
		t.Error("nobody knows that a dump was removed")
	}
}

// Programs with equal names of kernels: that of the largest comes first.
func TestDumpsOfSeveral(t *testing.T) {
	dir := t.TempDir()
	write := func(name, op, file, rest string) string {
		text := "ENTRY %m () -> f32[] {\n  %loop_add_fusion = f32[] fusion(%p), calls=%c, metadata={op_name=\"" + op +
			"\" source_file=\"" + file + "\" source_line=3}\n}\n"
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text+rest), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, tt := range []struct{ file, want string }{{dir + "/a.py", "a.py"}, {dir + "/b.py", "b.py"}, {dir + "/", ""},
		{dir + "/../x.py", ""}, {dir + "/q/../../x.py", ""}, {"a.py", "a.py"}, {"<frozen>", ""}} {
		write("1_after_optimizations.txt", "jit(a)/add", dir+"/a.py", "")
		write("2_after_optimizations.txt", `jit(b)/\"\\n\x1b[31m`, tt.file, strings.Repeat("\n", 500))
		files, _ := dumped(dir, time.Time{})
		err := dumps{files, []string{dir}}.read(t.Context(), func(got []model.Operation) error {
			if len(got) != 2 || got[0].File != tt.want || got[0].Path != "jit(b)/\"\\n\x1b[31m" ||
				got[1].Path != "jit(a)/add" {
				t.Errorf("%s: %+v", tt.file, got)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// Of one name, path and function each line is kept: the report says that there are several.
func TestDumpOfSeveralLines(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "1_after_optimizations.txt")
	text := ""
	for _, line := range []int{7, 7, 9, 11, 7} {
		text += fmt.Sprintf("ENTRY %%m () -> f32[] {\n  %%loop_add_fusion = f32[] fusion(%%p), calls=%%c, metadata={"+
			"op_name=\"jit(a)/add\" source_file=\"%s/a.py\" source_line=%d}\n}\n", dir, line)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	err := dumps{[]string{name}, []string{dir}}.read(t.Context(), func(got []model.Operation) error {
		if len(got) != 3 || got[0].Line != 7 || got[1].Line != 9 {
			t.Errorf("%+v", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A file above the bound is left out, and smaller ones are read.
func TestLargeDump(t *testing.T) {
	dir := t.TempDir()
	small := filepath.Join(dir, "dedicated_log_torch_trace_b.log")
	large := filepath.Join(dir, "dedicated_log_torch_trace_a.log")
	if err := errors.Join(os.WriteFile(small, []byte("x"), 0o600), os.WriteFile(large, nil, 0o600),
		os.Truncate(large, mostDumpMiB<<20+1)); err != nil {
		t.Fatal(err)
	}
	got, left := dumped(dir, time.Time{})
	if len(got) != 1 || got[0] != small || left == nil || !strings.Contains(left.Error(), "of 2 files") {
		t.Errorf("%q, %v", got, left)
	}
}
