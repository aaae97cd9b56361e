//go:build unix

// Command nsys is the fake that the package faketools describes.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

func main() { os.Exit(nsys()) }

// report is the content of the fake .nsys-rep. As in a real one the command line and the environment are there.
type report struct {
	Start       time.Time
	Fault       string
	Runs        []run
	Command     []string
	Environment []string
	Metrics     bool   // of the GPU were asked for
	Stacks      bool   // were asked for
	Lossy       string // the recording that is exported as it is, "" for those of the runs
}

type run struct {
	Base       bool
	Unprofiled bool // taken by nsgate beside the session
	Pid        int
	Start      time.Time
	File       string
}

// nsys returns the exit code.
func nsys() int {
	args := os.Args[1:]
	switch {
	case len(args) > 0 && args[0] == "profile":
		return profile(args[1:])
	case len(args) > 0 && args[0] == "export":
		return export(args[1:])
	case len(args) == 1 && args[0] == "--version":
		fmt.Println("NVIDIA Nsight Systems version 2025.3.1.90-253135822126v0")
		return 0
	case len(args) == 1 && args[0] == "--start-agent":
		time.Sleep(time.Hour)
		return 0
	}
	fmt.Fprintln(os.Stderr, "usage: nsys profile|export|--version")
	return 2
}

// options splits arguments into those of nsys, by long name, and the rest.
func options(args []string) (opts map[string]string, rest []string) {
	long := map[string]string{"-o": "output", "-t": "type", "-f": "force-overwrite", "-q": "quiet"}
	opts = make(map[string]string)
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		switch {
		case args[i] == "--":
			return opts, args[i+1:]
		case !strings.HasPrefix(name, "-"):
			return opts, args[i:]
		case joined:
		case i+1 < len(args):
			i++
			value = args[i]
		}
		if l, ok := long[name]; ok {
			name = l
		}
		opts[strings.TrimPrefix(name, "--")] = value
	}
	return opts, nil
}

func profile(args []string) int {
	fault := os.Getenv("NSGATE_FAKE_NSYS_FAULT")
	opts, command := options(args)
	if devices, some := opts["gpu-metrics-devices"]; some {
		why := map[string]string{"metrics-denied": "Insufficient privilege, see https://developer.nvidia.com/ERR_NVGPUCTRPERM",
			"metrics-taken": "Already under profiling"}[fault]
		switch {
		case why != "":
			fmt.Fprintf(os.Stderr, "Illegal --gpu-metrics-devices argument: %s.\n%s.\n", devices, why)
			return 1
		case devices == "help":
			fmt.Println("Possible --gpu-metrics-devices values are:\n\t0: NVIDIA H200 PCI[0000:04:00.0]\n\tall: Select all supported GPUs")
			return 0
		}
	}
	if opts["output"] == "" || len(command) == 0 {
		fmt.Fprintln(os.Stderr, "the fake nsys profile needs --output and a command")
		return 2
	}
	if fault == "hang" || fault == "stuck" {
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM)
	}
	if fault == "stuck" {
		time.Sleep(time.Hour)
	}
	exclude, filtered := opts["nvtx-domain-exclude"]
	if fault == "jax-old" && filtered {
		fmt.Fprintf(os.Stderr, "unrecognised option '--nvtx-domain-exclude=%s'\n\nusage: nsys profile [<args>] [application] [<application args>]\n",
			exclude)
		return 1
	}
	// nsys starts a daemon that nothing but nsys itself ends.
	agent := exec.Command(os.Args[0], "--start-agent")
	agent.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := agent.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	rep := report{Start: time.Now(), Fault: fault, Command: os.Args, Environment: os.Environ(),
		Metrics: opts["gpu-metrics-devices"] != "", Stacks: opts["cudabacktrace"] != ""}
	if strings.HasPrefix(fault, "jax") && (exclude != "TSL" || fault == "jax-always") {
		rep.Lossy = os.Getenv("NSGATE_FAKE_LOSSY")
	}
	// What is recorded goes to a file of its own until the command has ended.
	events := filepath.Join(os.TempDir(), fmt.Sprintf("nsys-report-%d.qdstrm", os.Getpid()))
	if err := rep.write(events); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.Remove(events)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "NSYS_PROFILING_SESSION_ID=1") // by which scripts tell traced runs from others, as under nsys
	// nsys gives its target a process group of its own.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "Executable '%s' not found\n", command[0])
		return 2
	}
	if fault == "crash" {
		time.Sleep(100 * time.Millisecond)
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	interrupt := make(chan os.Signal, 1)
	if fault != "hang" {
		signal.Notify(interrupt, syscall.SIGINT, syscall.SIGTERM)
	}
	go func() {
		for range interrupt {
			cmd.Process.Signal(syscall.SIGTERM)
		}
	}()
	cmd.Wait()
	if fault == "hang" {
		time.Sleep(time.Hour)
	}
	agent.Process.Kill()
	code := cmd.ProcessState.ExitCode()
	if code < 0 {
		code = 128 + int(cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	}
	if fault == "no-report" {
		fmt.Println("No reports were generated")
		return code
	}
	if fault == "importer" {
		fmt.Fprintln(os.Stderr, "**** Errors occurred while processing the raw events. ****")
	}
	rep.Runs = []run{{Pid: cmd.Process.Pid, Start: rep.Start}}
	// The journal of nsgate's runner lies beside its specification, the last argument.
	if runs := journal(filepath.Join(filepath.Dir(command[len(command)-1]), "journal")); runs != nil {
		rep.Runs = runs
	}
	if err := rep.assign(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := rep.write(strings.TrimSuffix(opts["output"], ".nsys-rep") + ".nsys-rep"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("Generated:\n\t" + opts["output"] + ".nsys-rep")
	return code
}

func (rep *report) write(file string) error {
	text, err := json.Marshal(rep)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// journal returns the finished runs that a runner wrote down, nil where there is no journal.
func journal(file string) []run {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	runs := []run{}
	for lines := bufio.NewReader(f); ; {
		text, err := lines.ReadBytes('\n')
		var l struct {
			Done bool
			Run  run
		}
		if json.Unmarshal(text, &l) == nil && l.Done && !l.Run.Unprofiled {
			runs = append(runs, l.Run)
		}
		if err != nil {
			return runs
		}
	}
}

// assign gives every run its recording.
func (rep *report) assign() error {
	variable := "NSGATE_FAKE_PROFILES"
	if rep.Metrics && os.Getenv("NSGATE_FAKE_GPU_METRICS") != "" {
		variable = "NSGATE_FAKE_GPU_METRICS"
	} else if rep.Stacks && os.Getenv("NSGATE_FAKE_STACKS") != "" {
		variable = "NSGATE_FAKE_STACKS"
	}
	find := func() ([]string, error) { return recordings(variable) }
	if file := os.Getenv("NSGATE_FAKE_CHOSEN"); file != "" {
		find = func() ([]string, error) { return chosen(file) }
	}
	files, err := find()
	if err != nil {
		return err
	}
	var ofBase []string
	if os.Getenv("NSGATE_FAKE_BASE_PROFILES") != "" {
		if ofBase, err = recordings("NSGATE_FAKE_BASE_PROFILES"); err != nil {
			return err
		}
	}
	base, other := 0, 0
	if dir := os.Getenv("NSGATE_FAKE_NEXT"); dir != "" {
		// The next one that no nsys beside or before this one has taken.
		for os.Mkdir(filepath.Join(dir, strconv.Itoa(other)), 0o700) != nil {
			if other++; other > 1000 {
				return fmt.Errorf("the fake nsys cannot count in %s", dir)
			}
		}
	}
	for i := range rep.Runs {
		if r := &rep.Runs[i]; r.Base && ofBase != nil {
			r.File = ofBase[base%len(ofBase)]
			base++
		} else {
			r.File = files[other%len(files)]
			other++
		}
	}
	return nil
}

// chosen lists the recordings that the runs of the session named, one a line, and forgets them.
func chosen(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(text)), os.Remove(file)
}

// recordings lists the recordings that a variable names.
func recordings(variable string) ([]string, error) {
	var files []string
	for _, name := range filepath.SplitList(os.Getenv(variable)) {
		found := []string{name}
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			found, _ = filepath.Glob(filepath.Join(name, "*.sqlite"))
		}
		for _, f := range found {
			abs, err := filepath.Abs(f)
			if err != nil {
				return nil, err
			}
			files = append(files, abs)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the fake nsys has nothing to replay: %s names no recording", variable)
	}
	return files, nil
}

func export(args []string) int {
	opts, rest := options(args)
	if opts["output"] == "" || len(rest) != 1 {
		fmt.Fprintln(os.Stderr, "the fake nsys export needs --output and a report")
		return 2
	}
	var rep report
	text, err := os.ReadFile(rest[0])
	if err == nil {
		err = json.Unmarshal(text, &rep)
	}
	if err != nil || rep.Fault == "truncated" || len(rep.Runs) == 0 {
		fmt.Fprintln(os.Stderr, "Section Table Reference magic number mismatch")
		return 1
	}
	if rep.Fault == "slow-export" {
		os.WriteFile(opts["output"], text[:len(text)/2], 0o644)
		time.Sleep(time.Hour)
	}
	if rep.Lossy != "" {
		err = copyFile(opts["output"], rep.Lossy)
	} else {
		err = merge(opts["output"], rep)
	}
	if err == nil {
		err = suit(opts["output"], rep, opts["include-json"] == "true")
	}
	tables, some := opts["tables"]
	if err == nil && (!some || strings.Contains(tables, "META_DATA_CAPTURE")) {
		err = addCapture(opts["output"], rep)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// open opens an export for writing. A fake export need not survive a crash, so nothing waits for the disk.
func open(file string) (*sqlite.Conn, error) {
	db, err := sqlite.OpenConn(file, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	for _, pragma := range []string{`PRAGMA synchronous = OFF`, `PRAGMA journal_mode = OFF`, `PRAGMA locking_mode = EXCLUSIVE`} {
		err = errors.Join(err, sqlitex.ExecuteTransient(db, pragma, nil))
	}
	return db, err
}

// suit makes of a merged recording what nsys would have recorded as it was asked.
func suit(file string, rep report, json bool) (err error) {
	db, err := open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	exec := func(when bool, query string, args ...any) {
		if err == nil && when {
			err = sqlitex.Execute(db, query, &sqlitex.ExecOptions{Args: args})
		}
	}
	has, err := column(db, `SELECT name FROM pragma_table_info('NVTX_EVENTS')`)
	exec(!rep.Metrics, `DROP TABLE IF EXISTS GPU_METRICS`)
	exec(!rep.Stacks, `DROP TABLE IF EXISTS CUDA_CALLCHAINS`)
	exec(!json && slices.Contains(has, "jsonText"), `UPDATE NVTX_EVENTS SET jsonText = NULL`)
	sources := os.Getenv("NSGATE_FAKE_SOURCES")
	exec(sources != "", `UPDATE StringIds SET value = ? || substr(value, 6) WHERE value LIKE '/repo/%'`, sources)
	memory := os.Getenv("NSGATE_FAKE_MEMORY")
	exec(memory != "", `UPDATE CUDA_GPU_MEMORY_USAGE_EVENTS SET bytes = bytes + CAST(? AS INTEGER)
		WHERE rowid IN (SELECT max(rowid) FROM CUDA_GPU_MEMORY_USAGE_EVENTS GROUP BY globalPid)`, memory)
	slow := os.Getenv("NSGATE_FAKE_SLOW")
	waits := os.Getenv("NSGATE_FAKE_WAITS")
	exec(rep.Stacks && waits != "", `UPDATE StringIds SET value = 'cudaDeviceSynchronize' WHERE value = ?`, waits)
	exec(slow != "", `UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = end + (end - start) / 5 WHERE shortName IN (SELECT id FROM StringIds WHERE value = ?)`, slow)
	return err
}

// addCapture adds what a full export tells of the process: its command line and its environment.
func addCapture(file string, rep report) (err error) {
	db, err := open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	add := func(name, value string) {
		if err == nil {
			err = sqlitex.Execute(db, `INSERT INTO META_DATA_CAPTURE VALUES (?, ?)`, &sqlitex.ExecOptions{Args: []any{name, value}})
		}
	}
	err = sqlitex.Execute(db, `CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT)`, nil)
	add("PROCESS_0:COMMAND", strings.Join(rep.Command, " "))
	for _, v := range rep.Environment {
		add("PROCESS_0:ENVIRONMENT_VARIABLE", v)
	}
	return err
}

// merge writes one export that holds all runs of a report.
func merge(file string, rep report) (err error) {
	if err := copyFile(file, rep.Runs[0].File); err != nil {
		return err
	}
	db, err := open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	exec := func(query string, args ...any) {
		if err == nil {
			err = sqlitex.Execute(db, query, &sqlitex.ExecOptions{Args: args})
		}
	}
	exec(`CREATE TABLE IF NOT EXISTS TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT)`)
	exec(`DELETE FROM TARGET_INFO_SESSION_START_TIME`)
	exec(`INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs) VALUES (?)`, rep.Start.UnixNano())
	for i, r := range rep.Runs {
		if err != nil {
			return err
		}
		from := "main"
		if i > 0 {
			from = "run"
			exec(`ATTACH ? AS run`, r.File)
		}
		var tables []string
		if err == nil {
			tables, err = column(db, `SELECT name FROM `+from+`.sqlite_master WHERE type = 'table'`)
		}
		// The recorded process, and where its string ids and its clock go.
		var pid, shift int64
		if err == nil {
			pid, err = number(db, `SELECT (globalPid >> 24) & 0xFFFFFF FROM `+from+`.CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1`)
		}
		if err == nil {
			shift, err = number(db, `SELECT coalesce(max(id), 0) + 1 FROM main.StringIds`)
		}
		clock := r.Start.Sub(rep.Start).Nanoseconds()
		clock += int64(i) * 10e9 // runs that are shorter than their recordings do not overlap
		for _, table := range tables {
			if err != nil {
				return err
			}
			var columns []string
			columns, err = column(db, fmt.Sprintf(`SELECT name FROM pragma_table_info('%s', '%s')`, table, from))
			shared := i > 0 // what describes the machine and the export is there already
			var values, sets []string
			for _, c := range columns {
				v := `"` + c + `"`
				switch {
				case c == "id" && table == "StringIds", stringColumns[c]:
					if i > 0 {
						v = fmt.Sprintf(`%s + %d`, v, shift)
						shared = false
					}
				case c == "start", c == "end", c == "timestamp" && (table == "DIAGNOSTIC_EVENT" || table == "GPU_METRICS"):
					v = fmt.Sprintf(`%s + %d`, v, clock)
					shared = false
				case c == "globalPid", c == "globalTid", c == "endGlobalTid":
					v = fmt.Sprintf(`CASE (%[1]s >> 24) & 0xFFFFFF WHEN %[2]d
						THEN (%[1]s & ~(0xFFFFFF << 24)) | (%[3]d << 24) ELSE %[1]s END`, v, pid, r.Pid)
					shared = false
				case c == "pid":
					v = fmt.Sprintf(`CASE %s WHEN %d THEN %d ELSE %[1]s END`, v, pid, r.Pid)
					shared = false
				}
				values = append(values, v)
				sets = append(sets, fmt.Sprintf(`"%s" = %s`, c, v))
			}
			switch {
			case i == 0 && table != "StringIds" && table != "TARGET_INFO_SESSION_START_TIME":
				exec(`UPDATE main."` + table + `" SET ` + strings.Join(sets, ", "))
			case i > 0 && !shared:
				exec(fmt.Sprintf(`INSERT INTO main."%s" ("%s") SELECT %s FROM run."%[1]s"`,
					table, strings.Join(columns, `", "`), strings.Join(values, ", ")))
			}
		}
		if i > 0 {
			exec(`DETACH run`)
		}
	}
	last := rep.Runs[len(rep.Runs)-1]
	switch rep.Fault {
	case "no-kernels":
		exec(`DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL`)
	case "importer":
		exec(`DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL`)
		exec(`INSERT INTO DIAGNOSTIC_EVENT (timestamp, timestampType, source, severity, text, globalPid)
			VALUES (0, 2, 3, 2, 'Error when processing events: Cannot find string for an exterior index', ?)`, int64(last.Pid)<<24)
	case "lost-run":
		for _, table := range []string{"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "DIAGNOSTIC_EVENT"} {
			exec(`DELETE FROM `+table+` WHERE (globalPid >> 24) & 0xFFFFFF = ?`, last.Pid)
		}
		exec(`DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE (globalTid >> 24) & 0xFFFFFF = ?`, last.Pid)
	}
	return err
}

// stringColumns hold numbers of StringIds.
var stringColumns = map[string]bool{
	"demangledName": true, "shortName": true, "mangledName": true, "nameId": true, "textId": true, "jsonTextId": true,
}

func column(db *sqlite.Conn, query string) (out []string, err error) {
	err = sqlitex.Execute(db, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		out = append(out, s.ColumnText(0))
		return nil
	}})
	return out, err
}

func number(db *sqlite.Conn, query string) (n int64, err error) {
	err = sqlitex.Execute(db, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		n = s.ColumnInt64(0)
		return nil
	}})
	return n, err
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
