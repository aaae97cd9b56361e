// Package codehost posts the answer of a gate to a pull request on GitHub or a merge request on GitLab.
package codehost

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
)

// Post is the answer of a gate in the forms that a code host shows. It is JSON between a process without network and
// the one that sends it.
type Post struct {
	Subject string  // workload of the comment, "" for several: a leg of a job has one comment for each
	Policy  string  // path of the policy file, "" for that of the repository
	GPU     string  // model, "" where it is not known
	Comment string  // Markdown; "" for none
	Update  bool    // the comment only replaces an older one
	Checks  []Check // GitHub only
}

// Check is a completed check run.
type Check struct{ Name, Conclusion, Title, Summary string }

// Host is a code host with the token of a job and the change under review.
type Host struct {
	Review
	ForFork string // command that writes the workflow which posts reports of pull requests from forks

	gitlab bool
	api    string // base URL
	header [2]string
	at     string // repository or project, as a path below api
	job    string // identifies the job across its runs
	leg    string // of the job's matrix, "" for none
	client http.Client
}

// Bounds of a conversation with a code host.
const (
	timeout   = 15 * time.Second // of a request
	allTime   = time.Minute      // of all requests
	maxAnswer = 32 << 20         // bytes
	perPage   = 100              // comments
	maxPages  = 50               // of comments
	maxChecks = 50               // check runs
)

// tokens are the variables with a token that a job hands to nsgate. GitLab gives CI_JOB_TOKEN to every program.
var tokens = []string{"GITHUB_TOKEN", "GITLAB_TOKEN"}

// repositoryName matches the name of a repository on GitHub or the number of a project on GitLab.
var repositoryName = input.Pattern(`^([A-Za-z0-9._-]+/[A-Za-z0-9._-]+|[0-9]+)$`)

// New is the code host of this job by its variables, with the event as it is now. The error names the missing
// variables.
func New(getenv func(string) string) (*Host, error) {
	h := &Host{Review: ReviewOf(getenv), client: http.Client{Timeout: timeout}}
	h.client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a token goes to no other host
	}
	name, project, token := "", "", ""
	switch {
	case getenv("GITHUB_ACTIONS") == "true":
		name = "GITHUB_API_URL, GITHUB_REPOSITORY and GITHUB_TOKEN"
		h.api, project, token = getenv("GITHUB_API_URL"), getenv("GITHUB_REPOSITORY"), getenv("GITHUB_TOKEN")
		h.header, h.at = [2]string{"Authorization", "Bearer " + token}, "/repos/"+project
		h.job, h.leg = getenv("GITHUB_WORKFLOW")+"\x00"+getenv("GITHUB_JOB"), getenv(Leg)
	case getenv("GITLAB_CI") == "true":
		name, h.gitlab = "CI_API_V4_URL, CI_PROJECT_ID and GITLAB_TOKEN", true
		h.api, project, token = getenv("CI_API_V4_URL"), getenv("CI_PROJECT_ID"), getenv("GITLAB_TOKEN")
		h.header = [2]string{"PRIVATE-TOKEN", token}
		if token == "" {
			token = getenv("CI_JOB_TOKEN")
			h.header = [2]string{"JOB-TOKEN", token}
		}
		h.at, h.job = "/projects/"+project, getenv("CI_JOB_NAME")
	default:
		return nil, fmt.Errorf("no comment or check run outside of GitHub Actions and GitLab CI: leave it out here")
	}
	u, err := url.Parse(h.api)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || token == "" ||
		strings.ContainsAny(token, "\r\n") || !repositoryName().MatchString(project) ||
		strings.Contains(project, "..") {
		return nil,
			fmt.Errorf("no comment or check run: %s are not all set for this step; hand the token on as a variable",
				name)
	}
	return h, nil
}

// Descriptor is the variable with the number of a descriptor from which the token is read: the measured program can
// read the environment of a process that it descends from.
const Descriptor = "NSGATE_TOKEN_FD"

// Token is the token in the environment of a job, "" for none.
func Token(getenv func(string) string) string {
	return measure.Either(getenv("GITHUB_ACTIONS") == "true", getenv(tokens[0]), getenv(tokens[1]))
}

// Hand puts a token from a descriptor where [New] looks for it. The kernel shows none that is set so late.
func Hand(setenv func(name, value string) error, token string) {
	for _, name := range tokens {
		setenv(name, token)
	}
}

// Hide takes the tokens out of the environment, so that a measured program inherits none.
func Hide(unset func(string) error) {
	for _, name := range tokens {
		unset(name)
	}
}

// Send posts comment and check runs, and returns an error for each part that was not posted.
func (h *Host) Send(ctx context.Context, p Post) (errs []error) {
	ctx, stop := context.WithTimeout(ctx, allTime)
	defer stop()
	if p.Comment != "" {
		if err := h.comment(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("the comment was not written: %w", err))
		}
	}
	for _, c := range p.Checks[:min(len(p.Checks), maxChecks)] {
		if err := h.check(ctx, c); err != nil {
			return append(errs, fmt.Errorf("the check run was not written: %w", err))
		}
	}
	return errs
}

// comment writes the comment of this job into the change, or updates the one that is there.
func (h *Host) comment(ctx context.Context, p Post) error {
	if h.Number == 0 && h.headBranch != "" {
		if err := h.find(ctx); err != nil {
			return err
		}
	}
	if h.Number == 0 {
		return fmt.Errorf("this job belongs to no open pull or merge request; run it on pull requests, or leave it out")
	}
	list, one, update := h.at+"/issues/"+strconv.Itoa(h.Number)+"/comments", h.at+"/issues/comments/", http.MethodPatch
	if h.gitlab {
		list, update = h.at+"/merge_requests/"+strconv.Itoa(h.Number)+"/notes", http.MethodPut
		one = list + "/"
	}
	own, err := h.written(ctx, list)
	mark, id := h.mark(p, own)
	body := map[string]string{"body": "<!-- nsgate:" + mark + " -->\n" + p.Comment}
	switch {
	case err != nil:
		return err
	case id != 0:
		return h.call(ctx, update, one+strconv.FormatInt(id, 10), body, nil)
	case p.Update:
		return nil
	}
	return h.call(ctx, http.MethodPost, list, body, nil)
}

// mark is the mark of a comment, and the number of the comment to update, 0 for none. Its first half stands for job,
// workload and policy, its second for the GPU model. A comment of a release that knew no legs, or of a run that knew no
// GPU, is taken over; a run that knows no GPU takes the only comment of its job.
func (h *Host) mark(p Post, own map[string]int64) (mark string, id int64) {
	of := func(parts ...string) string {
		sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
		return hex.EncodeToString(sum[:8])
	}
	older := of(h.job, p.Subject)
	unknown := older
	if h.leg+p.Policy != "" {
		unknown = of(h.job, p.Subject, h.leg, p.Policy)
	}
	mark = unknown
	if p.GPU != "" {
		mark = unknown[:8] + of(p.GPU)[:8]
	}
	legs := slices.DeleteFunc(slices.Collect(maps.Keys(own)), func(m string) bool { return m[:8] != unknown[:8] })
	switch {
	case own[mark] != 0:
		return mark, own[mark]
	case p.GPU == "" && len(legs) == 1:
		return legs[0], own[legs[0]]
	}
	return mark, cmp.Or(own[unknown], own[older])
}

// marked matches the beginning of a comment that nsgate wrote.
var marked = input.Pattern(`^<!-- nsgate:([0-9a-f]{16}) -->\r?\n`)

// actionsBot is the account of the token that GitHub gives to a job.
const actionsBot = "github-actions[bot]"

// account is an author of comments: Login on GitHub, Username on GitLab.
type account struct{ Login, Username string }

func (a account) name() string { return cmp.Or(a.Login, a.Username) }

// written are the numbers of the comments by their marks, of several with one mark the first. Only comments of the
// token's own account count: other authors, bots and members too, could edit theirs afterwards.
func (h *Host) written(ctx context.Context, list string) (map[string]int64, error) {
	type comment struct {
		ID           int64
		Body         string
		User, Author account
	}
	var own account
	var found []comment
	err := h.call(ctx, http.MethodGet, "/user", nil, &own)
	if h.gitlab && err != nil {
		return nil, err
	}
	others := false
	for page := 1; page <= maxPages; page++ {
		var all []comment
		query := fmt.Sprintf("?per_page=%d&page=%d", perPage, page)
		if h.gitlab {
			query += "&sort=asc"
		}
		if err := h.call(ctx, http.MethodGet, list+query, nil, &all); err != nil {
			return nil, err
		}
		for _, c := range all {
			if marked().MatchString(c.Body) {
				found = append(found, c)
				others = others || strings.HasSuffix(c.User.Login, "[bot]") && c.User.Login != actionsBot
			}
		}
		if len(all) < perPage {
			break
		}
	}
	if own.name() == "" && !h.gitlab { // the token of an application
		own.Login = h.application(ctx, others)
	}
	numbers := map[string]int64{}
	for _, c := range found {
		mark, by := marked().FindStringSubmatch(c.Body)[1], cmp.Or(c.User.name(), c.Author.name())
		if by != "" && by == own.name() && numbers[mark] == 0 {
			numbers[mark] = c.ID
		}
	}
	return numbers, nil
}

// application is the account of an application's token, which GitHub tells through GraphQL alone: it is asked where
// another application than that of GitHub's jobs has written.
func (h *Host) application(ctx context.Context, others bool) string {
	var answer struct{ Data struct{ Viewer account } }
	if others {
		graph := *h
		graph.api = strings.TrimSuffix(strings.TrimSuffix(h.api, "/"), "/v3")
		query := map[string]string{"query": "{viewer{login}}"}
		if graph.call(ctx, http.MethodPost, "/graphql", query, &answer) != nil {
			return actionsBot
		}
	}
	if login := answer.Data.Viewer.Login; login != "" {
		return strings.TrimSuffix(login, "[bot]") + "[bot]"
	}
	return actionsBot
}

// find looks for the open pull request of a fork's branch, which the event of a workflow_run does not name.
func (h *Host) find(ctx context.Context) error {
	var all []struct {
		Number int
		Head   struct{ SHA string }
	}
	query := url.Values{"state": {"open"}, "head": {h.headOwner + ":" + h.headBranch}}
	if err := h.call(ctx, http.MethodGet, h.at+"/pulls?"+query.Encode(), nil, &all); err != nil {
		return err
	}
	for _, p := range all {
		if p.Head.SHA == h.Commit {
			h.Number = p.Number
		}
	}
	return nil
}

// check writes a completed check run.
func (h *Host) check(ctx context.Context, c Check) error {
	if h.gitlab {
		return fmt.Errorf("GitLab has none; leave it out, or write a report for JUnit")
	}
	return h.call(ctx, http.MethodPost, h.at+"/check-runs", map[string]any{"name": c.Name, "head_sha": h.Commit,
		"status": "completed", "conclusion": c.Conclusion,
		"output": map[string]string{"title": c.Title, "summary": c.Summary}}, nil)
}

// call sends a request with a JSON body and reads the JSON answer, each nil for none.
func (h *Host) call(ctx context.Context, method, path string, body, into any) error {
	var text bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&text).Encode(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(h.api, "/")+path, &text)
	if err != nil {
		return err
	}
	request.Header.Set(h.header[0], h.header[1])
	request.Header.Set("User-Agent", "nsgate")
	request.Header.Set("Content-Type", "application/json")
	where, _, _ := strings.Cut(method+" "+path, "?")
	answer, err := h.client.Do(request)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err
		}
		return fmt.Errorf("%s: %w; the verdict stays, run the job again to post it", where, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s: status %d; %s", where, answer.StatusCode, h.next(answer.StatusCode, path))
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(into); err != nil {
		return fmt.Errorf("%s: the answer is not readable (%w); the verdict stays", where, err)
	}
	return nil
}

// next is the next step after a status of the API.
func (h *Host) next(status int, path string) string {
	switch {
	case status != http.StatusUnauthorized && status != http.StatusForbidden && status != http.StatusNotFound:
		return "the verdict stays, run the job again to post it"
	case h.gitlab:
		return "GITLAB_TOKEN needs a project access token with the scope api and the role Reporter"
	case h.Fork:
		return "a pull request from a fork has a token that only reads: a second workflow posts the saved report (" +
			h.ForFork + ")"
	case strings.Contains(path, "/check-runs"):
		return "give the job the permission checks: write"
	}
	return "give the job the permission pull-requests: write"
}
