package codehost

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// environ is a job of GitHub with an event, and further variables as NAME=VALUE.
func environ(t *testing.T, event string, more ...string) func(string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(file, []byte(event), 0o600); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_API_URL": "https://api.example",
		"GITHUB_TOKEN": "secret", "GITHUB_REPOSITORY": "team/app", "GITHUB_EVENT_PATH": file}
	for _, v := range more {
		name, value, _ := strings.Cut(v, "=")
		all[name] = value
	}
	return func(name string) string { return all[name] }
}

func TestNew(t *testing.T) {
	if _, err := New(environ(t, "{}")); err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"GITHUB_API_URL=", "GITHUB_API_URL=file:///etc", "GITHUB_API_URL=https://u:p@h",
		"GITHUB_TOKEN=",
		"GITHUB_TOKEN=a\r\nHost: b", "GITHUB_REPOSITORY=", "GITHUB_REPOSITORY=a/../../b", "GITHUB_REPOSITORY=../b",
		"GITHUB_REPOSITORY=a/b?c", "GITHUB_ACTIONS="} {
		if _, err := New(environ(t, "{}", v)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", v, err)
		}
	}
}

// The sender of a label counts only in the event that sets this label, and only as the name of an account.
func TestLabelled(t *testing.T) {
	const labels = `"pull_request": {"number": 7, "labels": [{"name": "ok"}, {"name": "bug"}]}`
	for _, tt := range []struct {
		event, by string
		ok        bool
	}{
		{`{"action": "labeled", "label": {"name": "ok"}, "sender": {"login": "alice"}, ` + labels + `}`, "alice", true},
		{`{"action": "labeled", "label": {"name": "ok"}, "sender": {"login": "a[bot]"}, ` + labels + `}`, "a[bot]",
			true},
		{`{"action": "labeled", "label": {"name": "bug"}, "sender": {"login": "alice"}, ` + labels + `}`, "", true},
		{`{"action": "synchronize", "label": {"name": "ok"}, "sender": {"login": "alice"}, ` + labels + `}`, "", true},
		{`{"action": "labeled", "label": {"name": "ok"}, "sender": {"login": "a\n::error::"}, ` + labels + `}`, "",
			true},
		{`{"action": "labeled", "label": {"name": "ok"}, "sender": {"login": "alice"}, "pull_request": {}}`, "", false},
		{`{"action": "unlabeled", "label": {"name": "ok"}, "sender": {"login": "alice"}}`, "", false},
		{`{"pull_request": []}`, "", false}, {"[" + strings.Repeat("[", 9_999), "", false}, {"", "", false},
	} {
		r := ReviewOf(environ(t, tt.event))
		if by, ok := r.Labelled("ok"); by != tt.by || ok != tt.ok {
			t.Errorf("%s: %q, %v", tt.event, by, ok)
		}
	}
}

func TestReviewOf(t *testing.T) {
	r := ReviewOf(environ(t, `{"pull_request": {"number": 7, "head": {"sha": "x\n", "repo": null}}}`, "GITHUB_SHA="+
		strings.Repeat("a", 40)))
	if r.Number != 7 || r.Commit != "" || !r.Fork {
		t.Errorf("a fork that was deleted: %+v", r)
	}
}

// A token does not follow to another host, and an answer that is not JSON is an error.
func TestRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("followed") }))
	defer other.Close()
	answer := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
	defer host.Close()
	h, err := New(environ(t, `{"pull_request": {"number": 7, "head": {"repo": {"full_name": "team/app"}}}}`,
		"GITHUB_API_URL="+host.URL))
	if err != nil {
		t.Fatal(err)
	}
	send := func(says string) {
		t.Helper()
		errs := h.Send(context.Background(), Post{Comment: "x"})
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), says) || strings.Contains(errs[0].Error(), "secret") {
			t.Errorf("got %v, want %q", errs, says)
		}
	}
	send("status 307; the verdict stays")
	answer = func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) }
	send("the answer is not readable")
	answer = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }
	send("give the job the permission pull-requests: write")
}

// TestLegs posts from legs that differ in one thing: none overwrites another's comment, each updates its own, a comment
// of an older release is taken over once, and a run that knows no GPU takes the only one.
func TestLegs(t *testing.T) {
	host := func(job, leg string) *Host {
		h, err := New(environ(t, "{}", "GITHUB_WORKFLOW=ci", "GITHUB_JOB="+job, Leg+"="+leg))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	legs := []struct {
		host *Host
		post Post
	}{
		{host("gate", ""), Post{Subject: "a", GPU: "NVIDIA H200"}},
		{host("gate", ""), Post{Subject: "a", GPU: "NVIDIA A100"}},
		{host("gate", ""), Post{Subject: "b", GPU: "NVIDIA H200"}},
		{host("gate", ""), Post{GPU: "NVIDIA H200"}},
		{host("gate", ""), Post{GPU: "NVIDIA H200", Policy: "sub/nsgate.toml"}},
		{host("other", ""), Post{Subject: "a", GPU: "NVIDIA H200"}},
		{host("gate", "12.4"), Post{Subject: "a", GPU: "NVIDIA H200"}},
		{host("gate", "13"), Post{Subject: "a", GPU: "NVIDIA H200"}},
	}
	own := map[string]int64{}
	for round := range 2 {
		for i, x := range legs {
			mark, id := x.host.mark(x.post, own)
			if want := int64(round * (i + 1)); id != want {
				t.Errorf("leg %d updates comment %d, not %d", i, id, want)
			}
			own[mark] = int64(i + 1)
		}
	}
	first, unknown := legs[0], legs[0].post
	unknown.GPU = ""
	older, _ := first.host.mark(unknown, nil)
	for name, tt := range map[string]struct {
		h    *Host
		p    Post
		own  map[string]int64
		want int64
	}{
		"of an older release":             {first.host, first.post, map[string]int64{older: 7}, 7},
		"of one, by a leg of a matrix":    {legs[6].host, legs[6].post, map[string]int64{older: 7}, 7},
		"of one, beside its own":          {first.host, first.post, own, 1},
		"no GPU, one comment":             {legs[5].host, Post{Subject: "a"}, own, 6},
		"no GPU, comments of two models":  {first.host, unknown, own, 0},
		"of one, without a GPU":           {first.host, unknown, map[string]int64{older: 7}, 7},
		"of another job and a stranger's": {first.host, first.post, map[string]int64{"0123456789abcdef": 7}, 0},
	} {
		if _, id := tt.h.mark(tt.p, tt.own); id != tt.want {
			t.Errorf("%s: comment %d, not %d", name, id, tt.want)
		}
	}
	if got := Job(environ(t, "{}", "GITHUB_JOB=gate", Leg+"=12.4, h200")); got != "gate 12.4, h200" {
		t.Errorf("job %q", got)
	}
}
