//go:build unix

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

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
	tables, some := opts["tables"]
	whole := !some || strings.Contains(tables, "META_DATA_CAPTURE")
	if err := rep.export(opts["output"], opts["include-json"] == "true", whole); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// export writes what nsys would have recorded as it was asked: with payloads of ranges, and as a whole with the command
// line and the environment.
func (rep report) export(file string, payloads, whole bool) error {
	recording, err := os.ReadFile(cmp.Or(rep.Lossy, rep.Runs[0].File))
	if err == nil {
		err = os.WriteFile(file, recording, 0o644)
	}
	if err != nil {
		return err
	}
	db, err := sqlite.OpenConn(file, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	m := &merger{db: db, rep: rep}
	// A fake export need not survive a crash, so nothing waits for the disk.
	for _, pragma := range []string{`PRAGMA synchronous = OFF`, `PRAGMA journal_mode = OFF`,
		`PRAGMA locking_mode = EXCLUSIVE`} {
		m.exec(pragma)
	}
	if rep.Lossy == "" {
		m.merge()
	}
	m.suit(payloads)
	if whole {
		m.exec(`CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT)`)
		m.exec(`INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COMMAND', ?)`, strings.Join(rep.Command, " "))
		for _, v := range rep.Environment {
			m.exec(`INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', ?)`, v)
		}
	}
	return errors.Join(m.err, db.Close())
}

// merger copies the tables of runs into one database; nothing is done after its first error.
type merger struct {
	db  *sqlite.Conn
	rep report
	err error
}

func (m *merger) exec(query string, args ...any) {
	if m.err == nil {
		m.err = sqlitex.Execute(m.db, query, &sqlitex.ExecOptions{Args: args})
	}
}

func (m *merger) column(query string) (out []string) {
	if m.err == nil {
		m.err = sqlitex.Execute(m.db, query, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			out = append(out, s.ColumnText(0))
			return nil
		}})
	}
	return out
}

func (m *merger) number(query string) int64 {
	n, _ := strconv.ParseInt(strings.Join(m.column(query), ""), 10, 64)
	return n
}

// merge puts the runs of the report in the place of the first recording.
func (m *merger) merge() {
	m.exec(`CREATE TABLE IF NOT EXISTS TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT)`)
	m.exec(`DELETE FROM TARGET_INFO_SESSION_START_TIME`)
	m.exec(`INSERT INTO TARGET_INFO_SESSION_START_TIME (utcEpochNs) VALUES (?)`, m.rep.Start.UnixNano())
	for i := range m.rep.Runs {
		m.run(i)
	}
	m.spoil()
}

// suit drops tables that were not asked for and applies the variables of the environment.
func (m *merger) suit(payloads bool) {
	if !m.rep.Metrics {
		m.exec(`DROP TABLE IF EXISTS GPU_METRICS`)
	}
	if !m.rep.Stacks {
		m.exec(`DROP TABLE IF EXISTS CUDA_CALLCHAINS`)
	}
	if !payloads && slices.Contains(m.column(`SELECT name FROM pragma_table_info('NVTX_EVENTS')`), "jsonText") {
		m.exec(`UPDATE NVTX_EVENTS SET jsonText = NULL`)
	}
	if sources := os.Getenv("NSGATE_FAKE_SOURCES"); sources != "" {
		m.exec(`UPDATE StringIds SET value = ? || substr(value, 6) WHERE value LIKE '/repo/%'`, sources)
	}
	if memory := os.Getenv("NSGATE_FAKE_MEMORY"); memory != "" {
		m.exec(`UPDATE CUDA_GPU_MEMORY_USAGE_EVENTS SET bytes = bytes + CAST(? AS INTEGER)
			WHERE rowid IN (SELECT max(rowid) FROM CUDA_GPU_MEMORY_USAGE_EVENTS GROUP BY globalPid)`, memory)
	}
	if waits := os.Getenv("NSGATE_FAKE_WAITS"); m.rep.Stacks && waits != "" {
		m.exec(`UPDATE StringIds SET value = 'cudaDeviceSynchronize' WHERE value = ?`, waits)
	}
	var renamed []any
	for _, pair := range strings.Fields(os.Getenv("NSGATE_FAKE_RENAMED")) {
		from, to, _ := strings.Cut(pair, "=")
		renamed = append(renamed, from, to)
	}
	if renamed != nil {
		m.exec(`UPDATE StringIds SET value = CASE value`+strings.Repeat(` WHEN ? THEN ?`,
			len(renamed)/2)+` ELSE value END`, renamed...)
	}
	if slow := os.Getenv("NSGATE_FAKE_SLOW"); slow != "" {
		m.exec(`UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = end + (end - start) / 5 WHERE shortName IN (SELECT id FROM StringIds WHERE value = ?)`, slow)
	}
}

// run copies one run. Tables of the machine and the export are there already.
func (m *merger) run(i int) {
	r := m.rep.Runs[i]
	m.exec(`ATTACH ? AS run`, r.File)
	// The recorded process, and where its string ids and its clock go.
	to := target{new: r.Pid, stretch: r.Stretch, clock: r.Start.Sub(m.rep.Start).Nanoseconds(),
		old: m.number(`SELECT (globalPid >> 24) & 0xFFFFFF FROM run.CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1`)}
	if r.Server == nil { // runs that are shorter than their recordings do not overlap
		to.clock += int64(i) * 10e9
	}
	if i > 0 { // call stacks, which a single run has, name their strings in columns that are not moved
		to.shift = m.number(`SELECT coalesce(max(id), 0) + 1 FROM main.StringIds`)
	}
	for _, table := range m.column(`SELECT name FROM run.sqlite_master WHERE type = 'table'`) {
		columns := m.column(fmt.Sprintf(`SELECT name FROM pragma_table_info('%s', 'run')`, table))
		differs := false
		var values []string
		for _, c := range columns {
			v, own := to.value(table, c)
			differs = differs || own
			values = append(values, v)
		}
		if !differs {
			continue
		}
		if i == 0 {
			m.exec(`DELETE FROM main."` + table + `"`)
		}
		m.exec(fmt.Sprintf(`INSERT INTO main."%s" ("%s") SELECT %s FROM run."%[1]s"`, table,
			strings.Join(columns, `", "`), strings.Join(values, ", ")))
	}
	m.exec(`DETACH run`)
}

// target is the place of a run in the merged database.
type target struct {
	old          int64 // process
	new          int
	shift, clock int64 // of string ids, in ns
	stretch      float64
}

// value is the expression for a column, and whether the column differs between runs.
func (t target) value(table, c string) (v string, own bool) {
	v = `"` + c + `"`
	switch {
	case c == "id" && table == "StringIds", stringColumns[c]:
		return fmt.Sprintf(`%s + %d`, v, t.shift), true
	case c == "start", c == "end", c == "timestamp" && (table == "DIAGNOSTIC_EVENT" || table == "GPU_METRICS"):
		if t.stretch > 0 {
			v = fmt.Sprintf(`CAST(%s * %g AS INTEGER)`, v, t.stretch)
		}
		return fmt.Sprintf(`%s + %d`, v, t.clock), true
	case c == "globalPid", c == "globalTid", c == "endGlobalTid":
		return fmt.Sprintf(`CASE (%[1]s >> 24) & 0xFFFFFF WHEN %[2]d
			THEN (%[1]s & ~(0xFFFFFF << 24)) | (%[3]d << 24) ELSE %[1]s END`, v, t.old, t.new), true
	case c == "pid":
		return fmt.Sprintf(`CASE %s WHEN %d THEN %d ELSE %[1]s END`, v, t.old, t.new), true
	}
	return v, false
}

// spoil does to the export what the fault says.
func (m *merger) spoil() {
	last := m.rep.Runs[len(m.rep.Runs)-1]
	switch m.rep.Fault {
	case "no-kernels":
		m.exec(`DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL`)
	case "forks":
		for _, table := range []string{"KERNEL", "MEMCPY", "RUNTIME"} {
			m.exec(`DELETE FROM CUPTI_ACTIVITY_KIND_` + table)
		}
	case "importer":
		m.exec(`DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL`)
		m.exec(`INSERT INTO DIAGNOSTIC_EVENT (timestamp, timestampType, source, severity, text, globalPid)
			VALUES (0, 2, 3, 2, 'Error when processing events: Cannot find string for an exterior index', ?)`, int64(last.Pid)<<24)
	case "lost-run":
		for _, table := range []string{"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "DIAGNOSTIC_EVENT"} {
			m.exec(`DELETE FROM `+table+` WHERE (globalPid >> 24) & 0xFFFFFF = ?`, last.Pid)
		}
		m.exec(`DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE (globalTid >> 24) & 0xFFFFFF = ?`, last.Pid)
	}
}

// stringColumns hold numbers of StringIds.
var stringColumns = map[string]bool{
	"demangledName": true, "shortName": true, "mangledName": true, "nameId": true, "textId": true, "jsonTextId": true,
}
