// Command ncu runs the command that it is given and writes to the log file what the directory $NSGATE_FAKE_NCU holds
// for that command: old.csv for ./old. Each call adds a line with its arguments to the file $NSGATE_FAKE_NCU_CALLS,
// where that is set.
//
// $NSGATE_FAKE_NCU_FAULT makes it fail: "permission" (the GPU's counters are for administrators), "metric" (an unknown
// metric), "none" (no kernel matched), "silent" (writes nothing and exits with 1), "hang" (does not end), "stall" (does
// not end and writes that it is connected), "die" (a segmentation fault with a child that sleeps), "endless" (profiles
// all kernels of a program that does not end until it is interrupted).
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const connected = "==PROF== Connected to process 7 (/app)\n"

func main() { os.Exit(ncu()) }

// ncu returns the exit code.
func ncu() int {
	args := os.Args[1:]
	if slices.Equal(args, []string{"--version"}) {
		fmt.Println("NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 36398880) " +
			"(public-release)")
		return 0
	}
	if slices.Equal(args, []string{"--query-metrics"}) {
		fmt.Println("Device NVIDIA H200 (GH100)\n------- ------- -------\nMetric Name  Metric Type  Metric Unit  " +
			"Metric Description\n" +
			"dram__bytes             Counter  byte  # of bytes accessed in DRAM\n" +
			"                                        in words\n" +
			"lts__t_sector_hit_rate  Ratio    %     proportion of L2 sector lookups that hit\n" +
			"smsp__inst_executed     Counter  inst  # of warp instructions executed")
		return 0
	}
	after := func(option string) []string { return args[slices.Index(args, option)+1:] }
	command := after("--launch-count")[1:] // the last option has a number
	if calls := os.Getenv("NSGATE_FAKE_NCU_CALLS"); calls != "" {
		f, err := os.OpenFile(calls, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Fprintln(f, strings.Join(args, " "))
		f.Close()
	}
	log, code := "", 0
	switch os.Getenv("NSGATE_FAKE_NCU_FAULT") {
	case "permission":
		log, code = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "+
			"Performance Counters\n", 1
	case "metric":
		log, code = "==ERROR== Failed to find metric nope\n", 9
	case "none":
		log = "==WARNING== No kernels were profiled.\n"
	case "silent":
		return 1
	case "hang":
		time.Sleep(time.Hour)
	case "stall":
		os.WriteFile(after("--log-file")[0], []byte(connected), 0o644)
		signal.Ignore(os.Interrupt)
		time.Sleep(time.Hour)
	case "die":
		os.WriteFile(after("--log-file")[0], []byte(connected), 0o644)
		exec.Command("sleep", "3600").Start()
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "endless":
		return endless(slices.Contains(args, "--kill"), command, after("--log-file")[0])
	default:
		text, err := os.ReadFile(filepath.Join(os.Getenv("NSGATE_FAKE_NCU"), filepath.Base(command[0])+".csv"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		log = string(text)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		log, code = log+"==ERROR== The application returned an error code (1).\n", 1
	}
	if err := os.WriteFile(after("--log-file")[0], []byte(log), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// endless profiles the kernels of the page, and writes it once it is interrupted, at once where it is told to end.
func endless(kill bool, command []string, log string) int {
	page, err := os.ReadFile(filepath.Join(os.Getenv("NSGATE_FAKE_NCU"), filepath.Base(command[0])+".csv"))
	if err != nil {
		return 1
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	os.WriteFile(log, []byte(connected), 0o644)
	if !kill {
		<-interrupted
	}
	os.WriteFile(log, []byte(connected+"==PROF== Trying to shutdown target application\n"+
		"==ERROR== The application returned an error code (130).\n"+string(page)), 0o644)
	return 1
}
