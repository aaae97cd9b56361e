package codehost

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// Review is a pull or merge request by the event of a job.
type Review struct {
	Number int    // 0 for none
	Commit string // head of the change
	Fork   bool   // the change comes from another repository
	Run    string // page of the run, "" for none

	labels                []string
	label, sender         string // added by this event, and by whom
	headOwner, headBranch string
}

// event holds the fields of GitHub's event that nsgate needs.
type event struct {
	Action string
	Label  struct{ Name string }
	Sender struct{ Login string }
	Pull   *struct {
		Number int
		Labels []struct{ Name string }
		Head   struct {
			SHA  string
			Repo repository
		}
		Base struct{ SHA string }
	} `json:"pull_request"`
	Repository struct {
		Default string `json:"default_branch"`
	}
	Run *struct {
		ID     int64
		SHA    string                 `json:"head_sha"`
		Branch string                 `json:"head_branch"`
		Pulls  []struct{ Number int } `json:"pull_requests"`
		Head   repository             `json:"head_repository"`
	} `json:"workflow_run"`
}

type repository struct {
	Name  string `json:"full_name"`
	Owner struct{ Login string }
}

var (
	commitID = input.Pattern(`^[0-9a-f]{40,64}$`)
	login    = input.Pattern(`^[A-Za-z0-9_-]{1,39}(\[bot\])?$`)
)

// Event is the variable with the parts of GitHub's event that a verdict depends on: the action has them from the
// runner, and they win over the file of the event, which a build can write.
const Event = "NSGATE_EVENT"

// readEvent reads the event of a job, an empty one where that cannot be read.
func readEvent(getenv func(string) string) (x event) {
	const most = 16 << 20
	text, _ := input.Read(getenv("GITHUB_EVENT_PATH"), most)
	for _, part := range [][]byte{text, []byte(getenv(Event))} {
		if len(part) > 0 && json.Unmarshal(part, &x) != nil {
			x = event{}
		}
	}
	return x
}

// Target is the commit of the target branch of a pull request by the event of a job on GitHub, "" where it says none,
// and where no event of GitHub is of a pull request: a build can name a file as the event of another host.
func Target(getenv func(string) string) string {
	p := readEvent(getenv).Pull
	if p != nil && getenv("GITHUB_BASE_REF") != "" && commitID().MatchString(p.Base.SHA) {
		return p.Base.SHA
	}
	return ""
}

// DefaultBranch is that of the repository by the event of a job on GitHub, "" where it says none.
func DefaultBranch(getenv func(string) string) string { return readEvent(getenv).Repository.Default }

// ReviewOf is the pull or merge request of a job; its number is 0 outside of one.
func ReviewOf(getenv func(string) string) Review {
	if getenv("GITHUB_ACTIONS") != "true" {
		number, _ := strconv.Atoi(getenv("CI_MERGE_REQUEST_IID"))
		return Review{Number: number, Run: getenv("CI_JOB_URL")}
	}
	r := Review{Commit: getenv("GITHUB_SHA")}
	run := getenv("GITHUB_RUN_ID")
	x := readEvent(getenv)
	p, w := x.Pull, x.Run
	switch {
	case p != nil:
		r.Number, r.Commit = p.Number, p.Head.SHA
		r.Fork = p.Head.Repo.Name != getenv("GITHUB_REPOSITORY")
		for _, l := range p.Labels {
			r.labels = append(r.labels, l.Name)
		}
		if x.Action == "labeled" && login().MatchString(x.Sender.Login) {
			r.label, r.sender = x.Label.Name, x.Sender.Login
		}
	case w != nil:
		r.Commit, r.headOwner, r.headBranch = w.SHA, w.Head.Owner.Login, w.Branch
		if len(w.Pulls) == 1 {
			r.Number = w.Pulls[0].Number
		}
		run = strconv.FormatInt(w.ID, 10)
	}
	if !commitID().MatchString(r.Commit) {
		r.Commit = ""
	}
	if server := getenv("GITHUB_SERVER_URL"); server != "" && run != "" {
		r.Run = server + "/" + getenv("GITHUB_REPOSITORY") + "/actions/runs/" + run
	}
	return r
}

// Labelled reports whether the pull request has a label, and who has just set it: "" where the event does not say that.
func (r *Review) Labelled(label string) (by string, ok bool) {
	ok = slices.Contains(r.labels, label)
	if ok && r.label == label {
		by = r.sender
	}
	return by, ok
}

// Leg is the variable with the values of a leg of a job's matrix, which GitHub tells to expressions alone.
const Leg = "NSGATE_LEG"

// Job names the job on GitHub with the leg of its matrix: "gate 12.4, h200".
func Job(getenv func(string) string) string {
	return strings.TrimSpace(getenv("GITHUB_JOB") + " " + getenv(Leg))
}

// Source is the address of the repository on a CI host. The zero value gives no links.
type Source struct {
	URL    string // "https://github.com/owner/name"
	GitLab bool   // else its pages lie as those of GitHub do
}

// SourceOf is the Source of a git remote on GitHub or GitLab, the zero value for any other.
func SourceOf(remote string) Source {
	if user, rest, ok := strings.Cut(remote, "@"); ok && !strings.Contains(user, "/") { // git@host:owner/name
		remote = "https://" + strings.Replace(rest, ":", "/", 1)
	}
	u, err := url.Parse(strings.TrimSuffix(remote, ".git"))
	if err != nil {
		return Source{}
	}
	gitlab := strings.Contains(u.Host, "gitlab")
	if !gitlab && u.Host != "github.com" {
		return Source{}
	}
	u.Scheme, u.User = "https", nil
	return Source{u.String(), gitlab}
}

func (s Source) link(parts ...string) string {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return ""
	}
	if s.GitLab {
		parts = append([]string{"-"}, parts...)
	}
	return u.JoinPath(parts...).String()
}

// Commit and File are links to a commit, and to a line of a file below the repository's root; "" where they are
// unknown.
func (s Source) Commit(id string) string {
	if !isCommit(id) {
		return ""
	}
	return s.link("commit", id)
}

func (s Source) File(commit, file string, line int) string {
	link := s.link("blob", commit, file)
	if link == "" || file == "" || !isCommit(commit) {
		return ""
	}
	return fmt.Sprintf("%s#L%d", link, line)
}

func isCommit(id string) bool {
	return len(id) >= 7 && len(id) <= 64 && strings.Trim(id, "0123456789abcdef") == ""
}
