package nsys

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// facts is the machine and the tools of an export, without anything that names a host or user.
type facts struct {
	gpus    []gpu
	ordinal map[device]int64 // → gpu.id: CUDA_VISIBLE_DEVICES renumbers the devices of a process
	driver  string
	cuda    string
	zero    time.Time // of the profiler's clock
}

type gpu struct {
	id, ordinal, pid int64
	name, uuid       string
}

// device is a CUDA device as a process numbers it.
type device struct{ pid, number int64 }

var bare = input.Pattern(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func (r *reader) readGPUs() error {
	f, db := &r.facts, r.db
	f.ordinal = make(map[device]int64)
	var others []gpu // adapters without multiprocessors: those of other makers, and Windows' own
	columns := []string{"id", "deviceId", "cuDevice", "name", "uuid", "smCount"}
	err := db.scan("TARGET_INFO_GPU", columns, func(row *row) {
		g := gpu{
			id: row.intOr(0, row.intOr(1, -1)), ordinal: row.intOr(2, -1), pid: -1,
			name: measure.NormalizeLine(row.text(3)), uuid: identity(row.text(4)),
		}
		if row.intOr(5, -1) == 0 {
			others = append(others, g)
		} else {
			f.gpus = append(f.gpus, g)
		}
	})
	if err != nil {
		return err
	}
	if len(f.gpus) == 0 { // before 2021.5
		err = db.scan("TARGET_INFO_CUDA_GPU", []string{"deviceId", "name", "pid"}, func(row *row) {
			n := row.intOr(0, -1)
			f.gpus = append(f.gpus, gpu{id: n, ordinal: n, pid: row.intOr(2, -1),
				name: measure.NormalizeLine(row.text(1))})
		})
		if err != nil {
			return err
		}
	}
	if len(f.gpus) == 0 {
		f.gpus = others
	}
	return db.scan("TARGET_INFO_CUDA_DEVICE", []string{"gpuId", "cudaId", "pid"}, func(row *row) {
		if !row.null(0) {
			f.ordinal[device{row.intOr(2, 0) & 0xFFFFFF, row.intOr(1, 0)}] = row.intOr(0, 0)
		}
	})
}

// identity writes a UUID as nvidia-smi does; all zeros, which some devices report, give "".
func identity(uuid string) string {
	uuid = strings.TrimSpace(uuid)
	if lower := strings.ToLower(uuid); bare().MatchString(lower) {
		uuid = "GPU-" + lower
	}
	return measure.Either(strings.Trim(strings.TrimPrefix(uuid, "GPU-"), "0-") == "", "", uuid)
}

// readDriver reads the driver's versions if the export has their table. The table also holds the host name and
// environment variables, which are not read.
func (r *reader) readDriver() error {
	const suffix = "DriverVersion"
	return r.db.values("TARGET_INFO_SYSTEM_ENV", func(name string, value func() string) {
		if len(name) < len(suffix) || !strings.EqualFold(name[len(name)-len(suffix):], suffix) {
			return
		}
		to, text := &r.facts.driver, value()
		if name == "CudaDriverVersion" {
			to, text = &r.facts.cuda, cmp.Or(model.CUDAVersion(text), text)
		}
		if version().MatchString(text) {
			*to = text
		}
	})
}

func (r *reader) readZero() error {
	first := true
	return r.db.scan("TARGET_INFO_SESSION_START_TIME", []string{"utcEpochNs"}, func(row *row) {
		if first && row.intOr(0, 0) > 0 {
			r.facts.zero = time.Unix(0, row.int(0)).UTC()
		}
		first = false
	})
}

// find gives the GPU behind a device number of a process.
func (f *facts) find(d device) (gpu, bool) {
	if id, ok := f.ordinal[d]; ok {
		if i := slices.IndexFunc(f.gpus, func(g gpu) bool { return g.id == id }); i >= 0 {
			return f.gpus[i], true
		}
	}
	// Releases without TARGET_INFO_CUDA_DEVICE: by CUDA's ordinal where that is unambiguous, else by nsys's.
	for _, number := range []func(gpu) int64{
		func(g gpu) int64 { return g.ordinal }, func(g gpu) int64 { return g.id },
	} {
		found := slices.DeleteFunc(slices.Clone(f.gpus), func(g gpu) bool {
			return number(g) != d.number || g.pid >= 0 && g.pid&0xFFFFFF != d.pid
		})
		if len(found) == 1 {
			return found[0], true
		}
	}
	return gpu{}, false
}

// environment is where and how a process was measured. Devices that the export does not describe become a warning.
func (r *reader) environment(t *model.Trace, graphs bool) model.Environment {
	f, origin := &r.facts, &r.db.origin
	e := model.Environment{Driver: f.driver, CUDA: f.cuda, Tool: origin.tool, Schema: origin.schema}
	e.Tick = cmp.Or(model.Tick(t.Launches, 1), model.ShortestTick)
	used := model.Devices(t.Launches)
	var names, uuids []string
	for _, d := range used {
		if g, ok := f.find(device{int64(t.Process), int64(d)}); ok {
			names, uuids = append(names, g.name), append(uuids, g.uuid)
		} else {
			t.Warnings = append(t.Warnings,
				fmt.Sprintf("GPU %d is not described in the recording: its model is not known", d))
		}
	}
	e.GPU = model.Models(names)
	e.GPUs = len(used)
	e.GPUHash = model.HashUUID(uuids...)
	switch {
	case graphs:
		e.GraphTrace = "graph"
	case slices.ContainsFunc(t.Launches, func(l model.Launch) bool { return l.Node }):
		e.GraphTrace = "node"
	}
	e.Start = origin.time
	if !t.Zero.IsZero() {
		e.Start = t.Zero.Add(time.Duration(t.Launches[0].Start))
	}
	return e
}

// The newest tested releases. A schema gets another major number when queries of the old one break.
const (
	newestYear   = 2026
	newestSchema = 3
)

// origin is the program, time and options of an export, which exports state since 2021.5.
type origin struct {
	tool   string // "nsys 2025.3.2", or "nsys" alone
	schema string // "3.20.3", or ""
	time   time.Time
	utc    bool     // times are UTC, not of the profiler's clock
	tables []string // patterns of the tables that were asked for, none for all
	part   bool     // only events of a part of the recording were asked for
}

var version = input.Pattern(`^\d+(\.\d+){1,4}$`)

// readOrigin reads versions and options of the export. The same tables name its user and host: nothing else is read.
func (db *database) readOrigin() error {
	o := origin{tool: "nsys"}
	for _, table := range []string{"META_DATA_EXPORT", "EXPORT_META_DATA"} {
		err := db.values(table, func(name string, value func() string) {
			switch name {
			case "EXPORT_PRODUCT_VERSION":
				text, _, _ := strings.Cut(value(), "-") // "2025.3.2.474-26113717666v0"
				if version().MatchString(text) {
					parts := strings.Split(text, ".")
					o.tool = "nsys " + strings.Join(parts[:min(3, len(parts))], ".")
				}
			case "EXPORT_SCHEMA_VERSION":
				if text := value(); version().MatchString(text) {
					o.schema = text
				}
			case "EXPORT_TIME_UTC":
				if t, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(value(), "Z")); err == nil {
					o.time = t
				}
			case "EXPORT_PARAM_TIME_NORMALIZE":
				o.utc = value() == "true"
			case "EXPORT_PARAM_TABLES_TO_EXPORT":
				o.tables = strings.Fields(value())
			case "EXPORT_PARAM_TIMES_TO_EXPORT":
				o.part = value() != ""
			}
		})
		if err != nil {
			return err
		}
	}
	db.origin = o
	return nil
}

// number is the n-th number of a version, -1 where it has none.
func number(version string, n int) int {
	if parts := strings.Split(version, "."); n < len(parts) {
		if v, err := strconv.Atoi(parts[n]); err == nil {
			return v
		}
	}
	return -1
}

// newer reports whether the export comes from a release that this package does not know.
func (o *origin) newer() bool {
	return number(strings.TrimPrefix(o.tool, "nsys "), 0) > newestYear || number(o.schema, 0) > newestSchema
}

// warnings are the doubts that come from how the export was made.
func (o *origin) warnings() (warnings []string) {
	if o.newer() {
		by := o.tool
		if o.schema != "" {
			by += " (schema " + o.schema + ")"
		}
		warnings = append(warnings,
			fmt.Sprintf("written by %s, newer than this nsgate knows: what that release added or moved "+
				"is not read; update nsgate", by))
	}
	if o.part {
		warnings = append(warnings, "only a part of the recording was exported (--times)")
	}
	return warnings
}

// asked reports whether the export holds a table as soon as there is something to put into it.
func (o *origin) asked(table string) bool {
	return len(o.tables) == 0 || slices.ContainsFunc(o.tables, func(pattern string) bool {
		matched, err := regexp.MatchString("^(?:"+pattern+")$", table)
		return pattern == table || err == nil && matched
	})
}

// successors refuses an export that has a table under another name instead of one that is read: a table of a later
// release, such as CUPTI_ACTIVITY_KIND_KERNEL_V2. Read as if it were absent, its kernels would be none.
func (db *database) successors(tables []string) error {
	for _, table := range tables {
		name := successor().ReplaceAllString(table, "")
		if name == table || !slices.Contains(readable, name) {
			continue
		}
		n, err := db.count(name)
		if err != nil {
			return err
		}
		if n == 0 {
			return model.Refuse(model.NewSchema, updateNsgate,
				"%s: it holds %s instead of %s: it was written by an nsys that is newer than this nsgate", db.name,
				table, name)
		}
	}
	return nil
}

var successor = input.Pattern(`_V\d+$`)
