// Package faketools holds a fake nsys, ncu and nvidia-smi that replay recordings, for tests.
//
// Each is a command of its own, which tests build and put on the PATH.
//
// The fake nsys really runs the command that it is given. Its export stands the recordings of $NSGATE_FAKE_PROFILES,
// a list of single-run SQLite exports and directories of them, in for the runs: the first for the first run and so on,
// starting over where there are more runs. It moves them to the runs' pids and times, as one session would hold them.
// $NSGATE_FAKE_BASE_PROFILES, where it is set, stands in for the runs of a base build in the same way.
//
// $NSGATE_FAKE_NEXT is a directory in which the fakes of several processes count, so that each stands in the next recording.
//
// Where $NSGATE_FAKE_CHOSEN names a file, each run of the command adds a line with its recording to it. FILE*1.3 is that recording
// with all its times multiplied by 1.3.
//
// $NSGATE_FAKE_STACKS, where set, does for the runs in which stacks are asked for; what was not asked for is not in an export. $NSGATE_FAKE_SOURCES is the directory that stands for /repo in them, and $NSGATE_FAKE_SLOW
// names a kernel that takes a fifth longer, $NSGATE_FAKE_MEMORY is the bytes that the last request for memory has more.
// $NSGATE_FAKE_WAITS names the CUDA call that is cudaDeviceSynchronize in the runs in which stacks are asked for.
//
// $NSGATE_FAKE_NSYS_FAULT makes it fail: "hang" (does not end, whatever signal comes), "stuck" (never starts the command),
// "crash" (dies by SIGKILL 100 ms after the command's start), "no-report" (ends without writing one),
// "no-kernels" (an export without kernel table), "importer" (loses every kernel and says so in the diagnostics),
// "lost-run" (nothing of the last run is there), "truncated" (the report cannot be exported), "slow-export" (the export
// does not end), "jax" (the export is the recording $NSGATE_FAKE_LOSSY unless the NVTX domain TSL is excluded),
// "metrics-denied" and "metrics-taken" (it may not sample the GPU's metrics, or something else does),
// "jax-old" (the same, and it does not know how to exclude a domain), "jax-always" (the same, whatever is excluded).
//
// Like a real one it starts a daemon, unless $NSGATE_FAKE_AGENT is "none".
//
// Like a real one, the report holds the environment and the command line, and an export that is not told which tables
// to write has them too.
package faketools

// Identity replaces each name of one machine in nvidia-smi -q -x.
const Identity = "xIDENTITYx4714"
