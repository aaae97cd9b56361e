//go:build linux

package command_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The tokens of the tests, which stand in one header and nowhere else.
const hostToken = "xTOKENx4715"

// codeHost is a fake API of GitHub and GitLab. It keeps comments and writes down each request.
type codeHost struct {
	*httptest.Server
	mutex    sync.Mutex
	status   int // of each answer, 0 for success
	comments []map[string]any
	log      strings.Builder
	own      string // account of the token on GitHub, or "gitlab"
}

func newCodeHost(t *testing.T) *codeHost {
	h := &codeHost{own: "github-actions[bot]"}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.answer(t, w, r) }))
	t.Cleanup(h.Close)
	return h
}

func (h *codeHost) answer(t *testing.T, w http.ResponseWriter, r *http.Request) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	token := r.Header.Get("Authorization") + r.Header.Get("PRIVATE-TOKEN")
	if !slices.Contains([]string{"Bearer " + hostToken, hostToken}, token) {
		t.Errorf("%s %s comes without the token", r.Method, r.URL)
	}
	text, _ := io.ReadAll(r.Body)
	fmt.Fprintf(&h.log, "%s %s\n", r.Method, r.URL)
	var body map[string]any
	if json.Unmarshal(text, &body) == nil && body != nil {
		h.write("", body)
	}
	if h.status != 0 {
		w.WriteHeader(h.status)
		fmt.Fprint(w, `{"message": "::error::refused"}`)
		return
	}
	var answer any = map[string]any{"username": "bot"}
	if strings.HasSuffix(r.URL.Path, "/user") && h.own != "gitlab" && h.own != "alice" {
		w.WriteHeader(http.StatusForbidden) // the token of an application has no user
		return
	}
	words := strings.Split(r.URL.Path, "/")
	switch {
	case strings.HasSuffix(r.URL.Path, "/user") && h.own != "gitlab":
		answer = map[string]any{"login": h.own}
	case strings.HasSuffix(r.URL.Path, "/graphql"):
		viewer := map[string]any{"login": strings.TrimSuffix(h.own, "[bot]")}
		answer = map[string]any{"data": map[string]any{"viewer": viewer}}
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/pulls"):
		answer = []any{map[string]any{"number": 6, "head": map[string]any{"sha": strings.Repeat("0", 40)}},
			map[string]any{"number": 7, "head": map[string]any{"sha": headCommit}}}
	case r.Method == http.MethodGet && !strings.HasSuffix(r.URL.Path, "/user"):
		first, _ := strconv.Atoi(r.URL.Query().Get("page"))
		rest := h.comments[min(100*(first-1), len(h.comments)):]
		answer = rest[:min(100, len(rest))]
	case r.Method == http.MethodPost && body["body"] != nil:
		by := map[string]string{"gitlab": "bot"}[h.own] + strings.TrimPrefix(h.own, "gitlab")
		h.comment(body["body"].(string), "Bot", by)
	case body["body"] != nil:
		id, _ := strconv.Atoi(words[len(words)-1])
		h.comments[id-1]["body"] = body["body"]
	}
	json.NewEncoder(w).Encode(answer)
}

// comment adds a comment of an account of a type.
func (h *codeHost) comment(body, kind, by string) {
	h.comments = append(h.comments, map[string]any{"id": len(h.comments) + 1, "body": body,
		"user": map[string]any{"type": kind, "login": by}, "author": map[string]any{"username": by},
		"author_association": "MEMBER"})
}

// write writes down a body: a field a line, lines of texts below it, of a summary the first.
func (h *codeHost) write(at string, body map[string]any) {
	for _, k := range slices.Sorted(func(yield func(string) bool) {
		for k := range body {
			if !yield(k) {
				return
			}
		}
	}) {
		switch v := body[k].(type) {
		case map[string]any:
			h.write(k+".", v)
		case string:
			if k == "summary" {
				v, _, _ = strings.Cut(v, "\n")
			}
			fmt.Fprintf(&h.log, "  %s%s: %s\n", at, k, strings.ReplaceAll(strings.TrimSuffix(v, "\n"), "\n",
				"\n    | "))
		}
	}
}

const headCommit = "0123456789012345678901234567890123456789"

// pullRequest is the event of a pull request.
func pullRequest(action, from string, labels ...string) string {
	var list []string
	for _, l := range labels {
		list = append(list, fmt.Sprintf(`{"name": %q}`, l))
	}
	return fmt.Sprintf(`{"action": %q, "label": {"name": "perf-accepted"}, "sender": {"login": "alice"}, "pull_request":
		{"number": 7, "labels": [%s], "head": {"sha": %q, "repo": {"full_name": %q}}}}`, action, strings.Join(list, ","),
		headCommit, from)
}

// onGitHub is a world in a job of GitHub whose API is fake, with a baseline.
func onGitHub(t *testing.T, h *codeHost) *world {
	w := newWorld(t)
	for _, v := range [][2]string{{"GITHUB_ACTIONS", "true"}, {"GITHUB_API_URL", h.URL},
		{"GITHUB_REPOSITORY", "team/app"},
		{"GITHUB_SERVER_URL", "https://github.example"}, {"GITHUB_RUN_ID", "42"}, {"GITHUB_WORKFLOW", "nsgate"},
		{"GITHUB_JOB", "gate"}, {"GITHUB_TOKEN", hostToken}, {"GITHUB_EVENT_PATH", filepath.Join(w.work, "event.json")},
		{"GITHUB_OUTPUT", filepath.Join(w.work, "output")}} {
		w.set(v[0], v[1])
	}
	w.write("event.json", pullRequest("opened", "team/app"))
	w.run(0, "git", "init", "-q")
	w.run(0, "nsgate", "record", "-q", "--workload", "kernels", "--from", w.get("KERNELS")+"/base")
	return w
}

// TestCodeHost holds the requests of the life of a pull request: the log of them is the expected output.
func TestCodeHost(t *testing.T) {
	t.Parallel()
	h := newCodeHost(t)
	w := onGitHub(t, h)
	said := ""
	check := func(title string, code int, profiles string, args ...string) *job {
		t.Helper()
		fmt.Fprintf(&h.log, "# %s\n", title)
		j := w.run(code, "nsgate", append([]string{"check", "-q", "--workload", "kernels", "--from",
			w.get("KERNELS") + "/" + profiles}, args...)...)
		for line := range strings.Lines(j.stderr.String()) {
			if strings.HasPrefix(line, "nsgate: ") {
				fmt.Fprint(&h.log, "! ", line)
			}
		}
		said += j.said()
		return j
	}
	check("nothing is asked for", 1, "saxpy_1.05")
	h.comment("<!-- nsgate:a stranger's -->", "User", "mallory")
	check("the first run of a pull request: green", 0, "unchanged", "--comment", "true", "--check")
	h.comments = h.comments[:1]
	w.run(0, "mkdir", "none")
	check("without a baseline", 0, "unchanged", "--comment", "true", "--check", "--no-baseline=pass", "--baseline",
		"none", "--patch", "first.patch")
	h.comments = h.comments[:1]
	check("green, failures only", 0, "unchanged", "--comment", "failures")
	check("slower", 1, "saxpy_1.05", "--comment", "failures", "--check", "--patch", "accept.patch")
	check("slower again", 1, "saxpy_1.05", "--comment", "failures", "--patch", "accept.patch")
	mark, _, _ := strings.Cut(h.comments[1]["body"].(string), "\n")
	check("green after a failure", 0, "unchanged", "--comment", "failures")
	w.set("GITHUB_JOB", "other")
	check("another job", 1, "saxpy_1.05", "--comment", "failures")
	w.set("GITHUB_JOB", "gate")

	w.write("event.json", pullRequest("labeled", "team/app", "bug", "perf-accepted"))
	check("a label that was just set", 0, "saxpy_1.05", "--comment", "true", "--check", "--accept-label",
		"perf-accepted", "--patch", "label.patch", "--report", "json=report.json")
	text, _ := os.ReadFile(filepath.Join(w.work, "label.patch"))
	if !strings.Contains(string(text), "label perf-accepted by alice") {
		t.Errorf("the patch does not name the label: %s", text)
	}
	if text, _ := os.ReadFile(filepath.Join(w.work, "report.json")); !strings.Contains(string(text),
		"accepted (label perf-accepted by alice)") {
		t.Errorf("the report does not name the label: %s", text)
	}
	w.write("event.json", pullRequest("synchronize", "team/app", "perf-accepted"))
	check("a label of an earlier event", 0, "saxpy_1.05", "--accept-label", "perf-accepted", "--patch", "label.patch")
	check("another label", 1, "saxpy_1.05", "--accept-label", "perf-ok", "--patch", "label.patch")
	w.write("bound.toml", "[[rule]]\nmetric = \"launches\"\nat_most = \"5\"\n")
	check("a bound, which no label lifts", 1, "saxpy_1.05", "--policy", "bound.toml", "--accept-label",
		"perf-accepted", "--patch", "bound.patch")
	check("no patch", 2, "saxpy_1.05", "--accept-label", "perf-accepted")

	// A pull request that names itself by other means than the event does not count.
	w.write("event.json", pullRequest("opened", "mallory/app"))
	h.status = 403
	check("a fork", 1, "saxpy_1.05", "--comment", "true", "--check")
	w.write("event.json", pullRequest("opened", "team/app"))
	check("without the permission", 0, "unchanged", "--comment", "true")
	h.status = 500
	check("the API is down", 0, "unchanged", "--check")
	h.status = 0
	w.write("event.json", `{"workflow_run": {"id": 41, "head_sha": "`+headCommit+`", "head_branch": "a&b=--> <!--",
		"pull_requests": [], "head_repository": {"full_name": "mallory/app", "owner": {"login": "mallory"}}}}`)
	fmt.Fprintln(&h.log, "# the second workflow posts the report of a fork")
	said += w.run(0, "nsgate", "report", "-q", "report.json", "--comment", "true", "--check").said()
	w.write("event.json", `{}`)
	check("no pull request", 0, "unchanged", "--comment", "true")
	w.set("GITHUB_TOKEN", "")
	check("no token", 0, "unchanged", "--comment", "true")
	w.set("GITHUB_API_URL", "http://127.0.0.1:1")
	w.set("GITHUB_TOKEN", hostToken)
	w.write("event.json", pullRequest("opened", "team/app"))
	check("no server", 1, "saxpy_1.05", "--comment", "true")

	if h.comments[0]["body"] != "<!-- nsgate:a stranger's -->" {
		t.Error("a stranger's comment was overwritten")
	}
	for _, text := range snapshot(w.work) {
		said += text
	}
	if strings.Contains(said, hostToken) {
		t.Errorf("the token is shown:\n%s", said)
	}
	if n := strings.Count(h.log.String(), mark); n < 4 {
		t.Errorf("the mark %q stands in %d comments", mark, n)
	}
	compared(t, "testdata/codehost/github.txt", h.log.String())
}

// compared holds a text against the file of its expected form.
func compared(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, _ := os.ReadFile(file); string(want) != got {
		t.Errorf("%s differs (go test -update rewrites it); got:\n%s", file, got)
	}
}

// Of several pages of comments the own one is found, and one with its mark that a stranger wrote is not taken for it.
func TestCodeHostPages(t *testing.T) {
	t.Parallel()
	h := newCodeHost(t)
	w := onGitHub(t, h)
	args := []string{"check", "-q", "--workload", "kernels", "--comment", "true", "--from",
		w.get("KERNELS") + "/unchanged"}
	w.run(0, "nsgate", args...)
	own := h.comments[0]
	mark, _, _ := strings.Cut(own["body"].(string), "\n")
	h.comments = nil
	for range 230 {
		h.comment(mark+"\nPASS", "User", "mallory")
	}
	h.comments = append(h.comments, own)
	own["id"] = len(h.comments)
	w.run(0, "nsgate", args...)
	if log := h.log.String(); !strings.Contains(log, "PATCH /repos/team/app/issues/comments/231\n") ||
		strings.Count(log, "PATCH") != 1 || strings.Count(log, "POST") != 1 {
		t.Errorf("not the own comment:\n%s", log)
	}
}

// A comment with the own mark of another bot or of a member is not the own one, whatever account the token has.
func TestCommentsOfOthers(t *testing.T) {
	t.Parallel()
	for _, own := range []string{"github-actions[bot]", "gate-app[bot]", "alice"} {
		h := newCodeHost(t)
		h.own = own
		w := onGitHub(t, h)
		args := []string{"check", "-q", "--workload", "kernels", "--comment", "true",
			"--from", w.get("KERNELS") + "/unchanged"}
		w.run(0, "nsgate", args...)
		body, mine := h.comments[0]["body"].(string), h.comments[0]
		h.comments = nil
		if mine["user"].(map[string]any)["login"] != own {
			t.Fatal(mine)
		}
		for _, by := range []string{"dependabot[bot]", "bob", "github-actions", "gate-app",
			"alice[bot]", "github-actions[bot]", "gate-app[bot]", "alice"} {
			if by != own {
				kind := "User"
				if strings.HasSuffix(by, "]") {
					kind = "Bot"
				}
				h.comment(body, kind, by)
			}
		}
		h.comments, mine["id"] = append(h.comments, mine), len(h.comments)+1
		h.log.Reset()
		w.run(0, "nsgate", args...)
		if log := h.log.String(); !strings.Contains(log, "PATCH /repos/team/app/issues/comments/8\n") ||
			strings.Count(log, "PATCH") != 1 ||
			len(h.comments) != 8 {
			t.Errorf("%s: not the own comment:\n%s", own, log)
		}
	}
}

// The measured program inherits no token, and reads none of a process that it descends from: of its environment,
// command line, memory or descriptors.
func TestTokenIsHidden(t *testing.T) {
	t.Parallel()
	h := newCodeHost(t)
	w := onGitHub(t, h)
	w.script("app", `echo "token:$GITHUB_TOKEN:$GITLAB_TOKEN" >seen
pid=$$
while [ "$pid" -gt 1 ] && name=$(cat /proc/$pid/comm) && grep -q '"\?nsgate' /proc/$pid/cmdline /proc/$pid/comm ||
		[ $pid = $$ ]; do
	tr '\0' '\n' </proc/$pid/environ | grep -a '_TOKEN=..\|TOKENx' >>seen
	tr '\0' '\n' </proc/$pid/cmdline | grep -a TOKENx >>seen
	for fd in /proc/$pid/fd/[3-9]*; do
		case $(readlink $fd) in pipe:*) timeout 0.2 cat $fd | grep -a TOKENx >>seen ;; esac
	done
	echo "$name" >>ancestors
	pid=$(sed 's/.*) . //; s/ .*//' /proc/$pid/stat)
done`)
	w.set("GITLAB_TOKEN", "x")
	w.run(0, "nsgate", "check", "-q", "--workload", "kernels", "--comment", "true", "--", "./app")
	if text, err := os.ReadFile(filepath.Join(w.work, "seen")); string(text) != "token::\n" {
		t.Errorf("the program sees %q (%v)", text, err)
	}
	if text, _ := os.ReadFile(filepath.Join(w.work, "ancestors")); strings.Count(string(text), "\n") < 2 {
		t.Errorf("the program looked at %q alone", text)
	}
	if !strings.Contains(h.log.String(), "POST /repos/team/app/issues/7/comments") {
		t.Errorf("no comment:\n%s", &h.log)
	}
}

// TestGitLabNotes is the life of a merge request.
func TestGitLabNotes(t *testing.T) {
	t.Parallel()
	h := newCodeHost(t)
	h.own = "gitlab"
	w := newWorld(t)
	for _, v := range [][2]string{{"GITLAB_CI", "true"}, {"CI_API_V4_URL", h.URL}, {"CI_PROJECT_ID", "5"},
		{"CI_MERGE_REQUEST_IID", "7"}, {"CI_JOB_NAME", "nsgate"},
		{"CI_JOB_URL", "https://gitlab.example/team/app/-/jobs/42"}, {"GITLAB_TOKEN", hostToken}} {
		w.set(v[0], v[1])
	}
	w.run(0, "nsgate", "record", "-q", "--workload", "kernels", "--from", w.get("KERNELS")+"/base")
	h.comment("<!-- nsgate:a stranger's -->", "", "mallory")
	check := func(code int, profiles string) *job {
		return w.run(code, "nsgate", "check", "-q", "--workload", "kernels", "--comment", "true", "--from",
			w.get("KERNELS")+"/"+profiles)
	}
	check(1, "saxpy_1.05")
	check(0, "unchanged")
	h.status = 401
	check(0, "unchanged").says(`nsgate: the comment was not written: GET /user: status 401; GITLAB_TOKEN needs a project`)
	compared(t, "testdata/codehost/gitlab.txt", h.log.String())
}

// Names of kernels, workloads and labels end no comment and mention nobody.
func TestCodeHostHostile(t *testing.T) {
	t.Parallel()
	h := newCodeHost(t)
	w := onGitHub(t, h)
	const name = "--> <!-- nsgate:0 --> @octocat `x` ::error::y\\n\\n# z <b>"
	text, err := os.ReadFile("../internal/report/testdata/fail.json")
	if err != nil {
		t.Fatal(err)
	}
	hostile := regexp.MustCompile(`saxpy|sgemm_spill|train`).ReplaceAllString(string(text), name)
	w.write("hostile.json", hostile)
	w.run(1, "nsgate", "report", "-q", "hostile.json", "--comment", "true", "--check")
	w.write("event.json", pullRequest("opened", "team/app\n::error::z"))
	w.set("GITHUB_WORKFLOW", "--> @octocat")
	w.set("GITHUB_SERVER_URL", "javascript:alert(1)//")
	w.set("GITHUB_RUN_ID", `1"><img src=x>`)
	j := w.run(1, "nsgate", "report", "-q", "hostile.json", "--comment", "true")
	if regexp.MustCompile(`(?m)^::error::`).MatchString(j.said()) {
		t.Errorf("a command in\n%s", j.said())
	}
	for _, c := range h.comments {
		mark, rest, _ := strings.Cut(c["body"].(string), "\n")
		if !regexp.MustCompile(`^<!-- nsgate:[0-9a-f]{16} -->$`).MatchString(mark) {
			t.Errorf("mark %q", mark)
		}
		if strings.Contains(rest, "<!--") || strings.Contains(rest, "-->") || strings.ContainsAny(rest, "@`") ||
			strings.Contains(rest, "<b>") || strings.Contains(rest, "javascript") || strings.Contains(rest, "<img") {
			t.Errorf("markup in %s", rest)
		}
		if n := strings.Count(c["body"].(string), "\n"); n > 20 {
			t.Errorf("%d lines", n)
		}
	}
	if len(h.comments) != 2 {
		t.Errorf("%d comments", len(h.comments))
	}
	compared(t, "testdata/codehost/hostile.txt", h.log.String())
}
