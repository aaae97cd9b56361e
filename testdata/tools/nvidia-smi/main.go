// Command nvidia-smi shows one idle H200 unless $NSGATE_FAKE_GPU says otherwise: "busy" (at 87 % of something unseen),
// "process" (another process computes on it), "throttled" (hot), "unknown" (most cells are [N/A]), "old" (a driver that
// knows the old field names only), "absent" (no driver), "mig" (cut into slices), "unloaded" (persistence mode is off),
// "shared" (the processes compute on it whose numbers stand in the file $NSGATE_FAKE_GPU_APPS, as long as they live).
// $NSGATE_FAKE_GPU_NAME is its model, several with | between for as many GPUs. Each --query adds a line to the file
// $NSGATE_FAKE_GPU_CALLS, where that is set. The part number of the board, which -q -x shows among much that names the
// machine, is $NSGATE_FAKE_BOARD, N/A where that is not set.
package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() { os.Exit(smi()) }

// smi returns the exit code.
func smi() int {
	mode := os.Getenv("NSGATE_FAKE_GPU")
	all := slices.Equal(os.Args[1:], []string{"-q", "-x"})
	if calls := os.Getenv("NSGATE_FAKE_GPU_CALLS"); calls != "" && !all {
		f, err := os.OpenFile(calls, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Fprintln(f, "call")
		f.Close()
	}
	if mode == "absent" {
		fmt.Println("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")
		return 9
	}
	if all {
		fmt.Printf(everything, uuid, cmp.Or(os.Getenv("NSGATE_FAKE_BOARD"), "N/A"))
		return 0
	}
	for _, arg := range os.Args[1:] {
		if fields, ok := strings.CutPrefix(arg, "--query-gpu="); ok {
			return showAll(fields, gpu(mode))
		}
		if fields, ok := strings.CutPrefix(arg, "--query-compute-apps="); ok {
			if mode == "shared" {
				return showApps(fields)
			}
			if mode != "process" {
				return 0
			}
			return show(fields, map[string]string{
				"pid": "999999", "gpu_uuid": uuid, "process_name": "/opt/secret dir/train, really",
			})
		}
	}
	fmt.Println("Invalid combination of input arguments.")
	return 6
}

// showApps lists the living processes of $NSGATE_FAKE_GPU_APPS by their names in the system.
func showApps(fields string) int {
	text, _ := os.ReadFile(os.Getenv("NSGATE_FAKE_GPU_APPS"))
	for pid := range strings.FieldsSeq(string(text)) {
		line, err := os.ReadFile("/proc/" + pid + "/cmdline")
		if err != nil || len(line) == 0 {
			continue
		}
		name, _, _ := strings.Cut(string(line), "\x00")
		if code := show(fields, map[string]string{"pid": pid, "gpu_uuid": uuid, "process_name": name}); code != 0 {
			return code
		}
	}
	return 0
}

const uuid = "GPU-host-a"

// everything is -q -x of an H200 in the words of driver 580, shortened.
//
//go:embed everything.xml
var everything string

func gpu(mode string) map[string]string {
	g := map[string]string{
		"index": "0", "uuid": uuid, "name": cmp.Or(os.Getenv("NSGATE_FAKE_GPU_NAME"), "NVIDIA H200"),
		"driver_version": "580.159.03", "clocks.sm": "1980",
		"clocks.max.sm": "1980", "utilization.gpu": "0", "mig.mode.current": "Disabled", "pstate": "P0",
		"persistence_mode":            "Enabled",
		"clocks_event_reasons.active": "0x0000000000000001", "clocks.applications.graphics": "1980",
		"clocks.default_applications.graphics": "1980",
	}
	switch mode {
	case "busy":
		g["utilization.gpu"] = "87"
	case "throttled":
		g["clocks.sm"] = "1200"
		g["clocks_event_reasons.active"] = "0x0000000000000044"
	case "locked":
		g["clocks.sm"] = "1200"
		g["clocks_event_reasons.active"] = "0x0000000000000002"
	case "lowered":
		g["clocks.applications.graphics"] = "1305"
	case "mig":
		g["mig.mode.current"] = "Enabled"
	case "unloaded":
		g["persistence_mode"] = "Disabled"
	case "old":
		g["clocks_throttle_reasons.active"] = g["clocks_event_reasons.active"]
		delete(g, "clocks_event_reasons.active")
	case "unknown":
		for _, f := range []string{"clocks.sm", "persistence_mode", "utilization.gpu", "mig.mode.current", "pstate"} {
			g[f] = "[N/A]"
		}
		g["clocks_event_reasons.active"] = "[Not Supported]"
	}
	return g
}

// showAll shows a GPU for each of the names with | between.
func showAll(fields string, g map[string]string) int {
	for i, name := range strings.Split(g["name"], "|") {
		g["index"], g["uuid"], g["name"] = strconv.Itoa(i), "GPU-host-"+string(rune('a'+i)), name
		if code := show(fields, g); code != 0 {
			return code
		}
	}
	return 0
}

func show(fields string, row map[string]string) int {
	var cells []string
	for f := range strings.SplitSeq(fields, ",") {
		cell, ok := row[f]
		if !ok {
			fmt.Printf("Field %q is not a valid field to query.\n", f)
			return 2
		}
		cells = append(cells, cell)
	}
	fmt.Println(strings.Join(cells, ", "))
	return 0
}
