package command_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// fakeGitHub is gh with the comments of one pull request in comments.json.
const fakeGitHub = `#!/bin/sh
set -e
case "$*" in
*--jq*)
  while [ "$1" != --jq ]; do shift; done
  jq -r "$2" comments.json ;;
"api -X PATCH "*)
  id=${4##*/}
  jq --argjson id "$id" --rawfile body "${6#body=@}" 'map(if .id == $id then .body = $body else . end)' comments.json > next.json
  mv next.json comments.json ;;
"api repos/team/app/issues/7/comments -F body=@"*)
  jq --rawfile body "${4#body=@}" '. + [{id: (length + 1), user: {login: "github-actions[bot]"}, body: $body}]' comments.json > next.json
  mv next.json comments.json ;;
*) echo "unknown: $*" >&2; exit 1 ;;
esac
`

// commentScripts are the shell commands of the blocks of YAML in ci.md that write comment.md.
func commentScripts(t *testing.T) (github, gitlab string) {
	for _, p := range pages(t) {
		if filepath.Base(p.file) != "ci.md" {
			continue
		}
		for _, b := range p.blocks("yaml") {
			var doc any
			if err := yaml.Unmarshal([]byte(b.text), &doc); err != nil {
				t.Fatal(err)
			}
			walk(doc, func(m map[string]any) {
				if run, _ := m["run"].(string); strings.Contains(run, "comment.md") {
					github = run
				}
				lines, _ := m["script"].([]any)
				for _, line := range lines {
					if s, _ := line.(string); strings.Contains(b.text, "comment.md") {
						gitlab += s + "\n"
					}
				}
			})
		}
	}
	if github == "" || gitlab == "" {
		t.Fatal("ci.md has no recipe for comments")
	}
	return github, gitlab
}

// The recipes post the report as one comment of a pull or merge request, and update it in the next pipeline.
func TestComments(t *testing.T) {
	for _, tool := range []string{"sh", "jq", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	github, gitlab := commentScripts(t)
	type comment struct {
		ID   int    `json:"id"`
		Body string `json:"body"`
	}
	comments := []comment{{1, "looks good to me"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const notes = "/projects/3/merge_requests/7/notes"
		if r.Header.Get("PRIVATE-TOKEN") != "secret" {
			t.Errorf("no token: %v", r.Header)
		}
		switch {
		case r.Method == "GET" && r.URL.Path == notes:
			json.NewEncoder(w).Encode(comments)
		case r.Method == "POST" && r.URL.Path == notes:
			comments = append(comments, comment{len(comments) + 1, r.FormValue("body")})
		case r.Method == "PUT" && r.URL.Path == notes+"/2":
			comments[1].Body = r.FormValue("body")
		default:
			t.Errorf("%s %s", r.Method, r.URL)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	writeProgram(t, filepath.Join(dir, "gh"), fakeGitHub)
	write("comments.json", `[{"id": 1, "user": {"login": "a"}, "body": "<!-- nsgate --> is not from the bot"}]`)
	env := append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "GITHUB_REPOSITORY=team/app", "PR=7", "MR_TOKEN=secret",
		"CI_API_V4_URL="+server.URL, "CI_PROJECT_ID=3", "CI_MERGE_REQUEST_IID=7", "no_proxy=*")
	for _, text := range []string{"FAIL step + 45 %\n\n| a | b |\n", "PASS & \"quoted\" µs\n"} {
		write("nsgate.md", text)
		for _, script := range []string{github, gitlab} {
			cmd := exec.Command("sh", "-e", "-c", script)
			cmd.Dir, cmd.Env = dir, env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s\n%s", err, out, script)
			}
		}
		posted, err := os.ReadFile(filepath.Join(dir, "comments.json"))
		if err != nil {
			t.Fatal(err)
		}
		var hosted []comment
		if err := json.Unmarshal(posted, &hosted); err != nil {
			t.Fatal(err)
		}
		for host, have := range map[string][]comment{"GitHub": hosted, "GitLab": comments} {
			if len(have) != 2 || strings.TrimSpace(have[1].Body) != "<!-- nsgate -->\n"+strings.TrimSpace(text) {
				t.Errorf("%s has %+v after %q", host, have, text)
			}
		}
	}
}
