package command_test

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// port sets a variable to a port that nothing listens on: port NAME.
func port(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: port NAME")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		ts.Fatalf("%v", err)
	}
	defer l.Close()
	ts.Setenv(args[0], strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
}

// gone wants that no fake server of a port is left, and that the port is free: gone PORT.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone PORT")
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+args[0])
	if err != nil {
		ts.Fatalf("the port is not free: %v", err)
	}
	l.Close()
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		if text, _ := os.ReadFile(name); bytes.HasPrefix(text, []byte("fakeserver\x00"+args[0]+"\x00")) {
			ts.Fatalf("%s is left: %q", name, text)
		}
	}
}

// fakeServer is a server and its client: fakeserver PORT serves, fakeserver load PORT FILE sends a request and writes
// the latencies that it measured. $SERVER and $CLIENT choose a fault.
func fakeServer(args []string) int {
	if args[0] == "load" {
		return load(args[1], args[2])
	}
	fault := os.Getenv("SERVER")
	begun := time.Now()
	switch fault {
	case "die":
		fmt.Println("ImportError: no module named engine")
		return 3
	case "deaf":
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
	case "child":
		exec.Command("setsid", "sleep", "1000").Start()
	}
	var answered atomic.Int32
	http.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) {
		switch {
		case fault == "late", time.Since(begun) < 50*time.Millisecond:
			w.WriteHeader(http.StatusServiceUnavailable)
		case fault == "redirect":
			w.Header().Set("Location", "http://192.0.2.1/")
			w.WriteHeader(http.StatusFound)
		}
	})
	http.HandleFunc("/generate", func(http.ResponseWriter, *http.Request) {
		switch {
		case fault == "crash":
			fmt.Println("CUDA error: an illegal memory access was encountered")
			os.Exit(4)
		case fault == "kill":
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				self.Kill()
			}
		}
		answered.Add(1)
	})
	l, err := net.Listen("tcp", "127.0.0.1:"+args[0])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("model loaded\nUvi")
	fmt.Printf("corn running on %s\n", l.Addr())
	fmt.Println(http.Serve(l, nil))
	return 1
}

// load is the client.
func load(port, file string) int {
	fault := os.Getenv("CLIENT")
	a, err := http.Get("http://127.0.0.1:" + port + "/generate")
	failed := 0
	if err != nil {
		fmt.Println(err)
		if fault != "brave" {
			return 1
		}
		failed = 1
	} else {
		a.Body.Close()
	}
	switch fault {
	case "hang":
		time.Sleep(time.Hour)
	case "exit":
		fmt.Println("Traceback: no prompt")
		return 5
	case "fail":
		failed = 2
	case "nothing":
		return 0
	}
	if os.Getenv("NSYS_PROFILING_SESSION_ID") != "" && fault != "idle" {
		time.Sleep(600 * time.Millisecond) // the kernels of the recordings begin 380 ms after their process
	}
	slow := 1.0
	if os.Getenv("SLOW") == "1" {
		slow = 1.2
	}
	rate := 100 + float64(os.Getpid()%7)/50
	fmt.Printf("P99 TTFT (ms): %.3f\n", slow*20*rate/100)
	text := fmt.Sprintf(`{"date":"20261120-100000","backend":"vllm","completed":200,"failed":%d,"request_throughput":%.4f,
"mean_itl_ms":%.4f,"p99_itl_ms":%.4f}`, failed, rate/slow, slow*5*100/rate, slow*9*100/rate)
	if err := os.WriteFile(cmp.Or(file, os.DevNull), []byte(text), 0o644); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}
