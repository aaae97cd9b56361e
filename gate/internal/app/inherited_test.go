package app

import (
	"maps"
	"strings"
	"testing"
)

// Variables that change how a program runs.
const changing = `NVIDIA_TF32_OVERRIDE=0 NVTE_FLASH_ATTN=0 VLLM_ATTENTION_BACKEND=FLASHINFER
FLASH_ATTENTION_FORCE_BUILD=1 KMP_AFFINITY=compact GOMP_CPU_AFFINITY=0-3 GLIBC_TUNABLES=glibc.malloc.tcache_count=0
MALLOC_ARENA_MAX=1 HF_HOME=/mnt/hf BATCH_SIZE=64 MODEL=large HOME=/root TMPDIR=/dev/shm LANG=C LC_ALL=C TZ=UTC
PATH=/usr/bin USER=ci SHELL=/bin/sh TERM=dumb CI=true GITHUB_ACTIONS=true GITLAB_CI=true BUILDKITE=true
CIRCLECI=true TF_BUILD=True JENKINS=1 CI_NODE_INDEX=1 CI_NODE_TOTAL=2 CIRCLE_NODE_INDEX=1 BUILDKITE_PARALLEL_JOB=1
BUILDKITE_PARALLEL_JOB_COUNT=4 SLURM_CPUS_PER_TASK=8 SLURM_NTASKS=2 SLURM_CPU_BIND=quiet SLURM_ARRAY_TASK_ID=3
SLURM_JOB_CPUS_PER_NODE=8 CUDA_VISIBLE_DEVICES=0 BUILD_TYPE=Debug BUILD_DIR=out NODE_OPTIONS=--max-old-space-size=1
CHANGE_RATE=2 GIT_LFS_SKIP_SMUDGE=1 JOB_SIZE=4 TAG=x RUN_STEPS=3 CI_SIZE=2 CI_TEST_SIZE=small BASH_ENV=/home/ci/env
WORKSPACES=2 HOSTFILE=/h OMP_NUM_THREADS=3 TOKENIZERS_PARALLELISM=false EOS_TOKEN=2 XDG_CACHE_HOME=/c
MASTER_PORT=29500 SYSTEM=a PWDX=1 _X=1 DISPLAY=:0 AWS_REGION=x WATCHDOG_TIMEOUT=2 SYSTEM_SIZE=9 AGENT_COUNT=4
CHAT_TEMPLATE=x CI_BUILD_TYPE=Debug HOST=a WINDOW=512 SYSTEM_TOTALJOBSINPHASE=2 http_proxy=http://p`

func TestChangingVariables(t *testing.T) {
	for _, v := range strings.Fields(changing) {
		if perJob(v) {
			t.Errorf("%s can change a program, and is taken for one of a job", v)
		}
	}
}

// environments are variables of two jobs of one workflow on one runner, with # for what differs between them.
var environments = map[string]string{
	"GitHub": `CI=true GITHUB_ACTIONS=true GITHUB_RUN_ID=99#1 GITHUB_RUN_NUMBER=# GITHUB_RUN_ATTEMPT=#
		GITHUB_SHA=abc# GITHUB_REF=refs/pull/#/merge GITHUB_REF_NAME=#/merge GITHUB_HEAD_REF=f# GITHUB_EVENT_NAME=e#
		GITHUB_ACTOR=a# GITHUB_JOB=gpu GITHUB_OUTPUT=/r/_temp/_runner_file_commands/set_output_#
		GITHUB_ENV=/r/_temp/set_env_# GITHUB_TOKEN=ghs_# GITHUB_ACTION=__run_# GITHUB_TRIGGERING_ACTOR=#
		RUNNER_TEMP=/r/_temp# RUNNER_NAME=gpu# RUNNER_TRACKING_ID=github_# ACTIONS_RUNTIME_TOKEN=ey#
		ACTIONS_RUNTIME_URL=https://p#/ ACTIONS_CACHE_URL=https://c# ACTIONS_ORCHESTRATION_ID=# GH_TOKEN=ghs_#
		PWD=/r/w# SHLVL=# OLDPWD=/# _=/bin/# INVOCATION_ID=# JOURNAL_STREAM=8:# SYSTEMD_EXEC_PID=# RUNNER_DEBUG=#`,
	"GitLab": `CI=true GITLAB_CI=true CI_JOB_ID=# CI_JOB_TOKEN=glcbt-# CI_JOB_URL=https://# CI_JOB_STARTED_AT=#
		CI_PIPELINE_ID=# CI_PIPELINE_IID=# CI_PIPELINE_SOURCE=# CI_COMMIT_SHA=# CI_COMMIT_REF_NAME=#
		CI_COMMIT_MESSAGE=# CI_COMMIT_TIMESTAMP=# CI_BUILDS_DIR=/b CI_MERGE_REQUEST_IID=# CI_MERGE_REQUEST_TITLE=#
		CI_RUNNER_ID=# CI_RUNNER_SHORT_TOKEN=# CI_CONCURRENT_ID=# CI_PROJECT_DIR=/b/#/p
		CI_REPOSITORY_URL=https://gitlab-ci-token:#@h/p.git CI_REGISTRY_PASSWORD=# CI_DEPENDENCY_PROXY_PASSWORD=#
		CI_SERVER_VERSION=# CI_SERVER_TLS_CA_FILE=/b/# GITLAB_USER_LOGIN=# GITLAB_FEATURES=#
		HOSTNAME=runner-#-project-1 CI_OPEN_MERGE_REQUESTS=# CI_DEFAULT_BRANCH=main CI_TRIGGER_SHORT_TOKEN=#
		TRIGGER_PAYLOAD=/# GITLAB_ENV=/# CI_DEPLOY_USER=#`,
	"Jenkins": `CI=true JENKINS_URL=u JENKINS_NODE_COOKIE=# JENKINS_SERVER_COOKIE=# BUILD_ID=# BUILD_NUMBER=#
		BUILD_TAG=jenkins-j-# BUILD_URL=https://j/#/ BUILD_DISPLAY_NAME=## JOB_NAME=j/PR-# JOB_BASE_NAME=PR-#
		JOB_URL=# JOB_DISPLAY_URL=# RUN_DISPLAY_URL=# RUN_ARTIFACTS_DISPLAY_URL=# RUN_CHANGES_DISPLAY_URL=#
		RUN_TESTS_DISPLAY_URL=# EXECUTOR_NUMBER=# NODE_NAME=n# NODE_LABELS=# WORKSPACE=/j/w@#
		WORKSPACE_TMP=/j/w@#tmp GIT_COMMIT=# GIT_PREVIOUS_COMMIT=# GIT_PREVIOUS_SUCCESSFUL_COMMIT=# GIT_BRANCH=PR-#
		GIT_URL=https://# CHANGE_ID=# CHANGE_URL=# CHANGE_TITLE=# CHANGE_AUTHOR=# CHANGE_AUTHOR_EMAIL=#
		CHANGE_TARGET=main CHANGE_BRANCH=f# BRANCH_NAME=PR-# BUILD_CAUSE=# STAGE_NAME=gate HUDSON_COOKIE=#
		HUDSON_URL=u`,
	"Buildkite": `CI=true BUILDKITE=true BUILDKITE_BUILD_ID=# BUILDKITE_BUILD_NUMBER=# BUILDKITE_COMMIT=#
		BUILDKITE_JOB_ID=# BUILDKITE_AGENT_ACCESS_TOKEN=# BUILDKITE_AGENT_JOB_API_SOCKET=/tmp/#
		BUILDKITE_AGENT_JOB_API_TOKEN=# BUILDKITE_AGENT_PID=# BUILDKITE_BRANCH=f# BUILDKITE_MESSAGE=#
		BUILDKITE_PULL_REQUEST=# BUILDKITE_BUILD_CHECKOUT_PATH=/b/# BUILDKITE_ENV_FILE=/tmp/job-env-#
		BUILDKITE_PARALLEL_JOB=0 BUILDKITE_PARALLEL_JOB_COUNT=2 BUILDKITE_RETRY_COUNT=# BUILDKITE_STEP_ID=#
		BUILDKITE_PULL_REQUEST_REPO=#`,
	"CircleCI": `CI=true CIRCLECI=true CIRCLE_BUILD_NUM=# CIRCLE_SHA1=# CIRCLE_BRANCH=# CIRCLE_WORKFLOW_ID=#
		CIRCLE_WORKFLOW_JOB_ID=# CIRCLE_PREVIOUS_BUILD_NUM=# CIRCLE_OIDC_TOKEN=#
		CIRCLE_INTERNAL_TASK_DATA=/tmp/.circleci-task-data-# CIRCLE_NODE_INDEX=0 BASH_ENV=/tmp/.bash_env-6#-0-build
		SSH_AUTH_SOCK=/tmp/# HOSTNAME=# CIRCLE_PULL_REQUEST=# CIRCLE_USERNAME=#`,
	"Azure": `TF_BUILD=True AGENT_ID=# AGENT_NAME=# AGENT_JOBSTATUS=# AGENT_TEMPDIRECTORY=/a/# BUILD_BUILDID=#
		BUILD_BUILDNUMBER=# BUILD_BUILDURI=# BUILD_SOURCEVERSION=# BUILD_SOURCEVERSIONMESSAGE=# BUILD_SOURCEBRANCH=#
		BUILD_SOURCEBRANCHNAME=# BUILD_REASON=# BUILD_QUEUEDBY=# BUILD_REQUESTEDFOREMAIL=# BUILD_CONTAINERID=#
		BUILD_ARTIFACTSTAGINGDIRECTORY=/# BUILD_SOURCESDIRECTORY=/# SYSTEM_ACCESSTOKEN=# SYSTEM_JOBID=#
		SYSTEM_TIMELINEID=# SYSTEM_PULLREQUEST_PULLREQUESTID=# SYSTEM_PLANID=# SYSTEM_STAGEATTEMPT=#
		PIPELINE_WORKSPACE=/# ENDPOINT_URL_SYSTEMVSSCONNECTION=# TASK_DISPLAYNAME=# VSTS_PROCESS_LOOKUP_ID=vsts_#_#
		COMMON_TESTRESULTSDIRECTORY=/#`,
	"Slurm": `SLURM_JOB_ID=# SLURM_JOBID=# SLURM_JOB_NAME=gate# SLURM_JOB_START_TIME=# SLURM_JOB_END_TIME=#
		SLURM_NODELIST=n# SLURM_TASK_PID=# SLURM_JOB_NODELIST=n# SLURMD_NODENAME=n# SLURM_TOPOLOGY_ADDR=n#
		SLURM_STEP_ID=# SLURM_STEPID=# SLURM_STEP_LAUNCHER_PORT=# SLURM_LAUNCH_NODE_IPADDR=10.0.0.#
		SLURM_SRUN_COMM_HOST=# SLURM_SRUN_COMM_PORT=# SLURM_SUBMIT_DIR=/# SLURM_CPUS_PER_TASK=8 SLURM_NTASKS=1
		XDG_SESSION_ID=# XDG_RUNTIME_DIR=/run/user/# SSH_CLIENT=# SSH_CONNECTION=# SSH_TTY=/dev/pts/# LINES=#
		COLUMNS=# DBUS_SESSION_BUS_ADDRESS=unix:# KRB5CCNAME=/tmp/# TMUX=/# TMUX_PANE=%# WINDOWID=# OLDPWD=/# PWD=/#
		HOSTNAME=#`,
}

// Two jobs of one workflow inherit the same settings.
func TestJobsOfHosts(t *testing.T) {
	for host, text := range environments {
		var settings [2]map[string]string
		for job, word := range []string{"41", "7"} {
			settings[job] = variables(strings.Fields(strings.ReplaceAll(text, "#", word)))
		}
		if !maps.Equal(settings[0], settings[1]) {
			t.Errorf("%s: two jobs differ%s", host, changedPrints(prints(settings[0]), prints(settings[1])))
		}
	}
}

func TestChangedPrints(t *testing.T) {
	base := map[string]string{"A": "1", "odd name,\"\n": "x", "Max stack size": "8", "SAME": "0"}
	for _, tt := range []struct {
		head map[string]string
		want string
	}{
		{map[string]string{"A": "2", "odd name,\"\n": "x", "Max stack size": "8", "SAME": "0"}, ": A"},
		{map[string]string{"odd name,\"\n": "x", "Max stack size": "9", "SAME": "0", "NEW": ""},
			": A, Max stack size, NEW"},
		{map[string]string{"SAME": "0", "B": "", "C": "", "D": ""}, ": A, B, C, D, Max stack size and 1 more"},
		{base, ""},
		{nil, ""},
	} {
		if got := changedPrints(prints(base), prints(tt.head)); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.head, got, tt.want)
		}
	}
	text := prints(map[string]string{"PASSWORD": "hunter2"})
	if strings.Contains(text, "hunter2") || len(text) > len("PASSWORD=1234") {
		t.Errorf("%s holds more than 16 bits of a value", text)
	}
	many := map[string]string{}
	for i := range 3000 {
		many[strings.Repeat("N", i%50)+string(rune('a'+i%26))+strings.Repeat("x", i%30)] = ""
	}
	if len(prints(many)) > mostPrints {
		t.Error("the names have no bound")
	}
}
