package nsys

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/input"
	"github.com/nsgate/nsgate/gate/internal/model"
)

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
	wanted := func(name string) bool {
		return slices.Contains([]string{"EXPORT_PRODUCT_VERSION", "EXPORT_SCHEMA_VERSION", "EXPORT_TIME_UTC",
			"EXPORT_PARAM_TIME_NORMALIZE", "EXPORT_PARAM_TABLES_TO_EXPORT", "EXPORT_PARAM_TIMES_TO_EXPORT"}, name)
	}
	for _, table := range []string{"META_DATA_EXPORT", "EXPORT_META_DATA"} {
		err := db.values(table, wanted, func(name, value string) {
			switch name {
			case "EXPORT_PRODUCT_VERSION":
				if value, _, _ = strings.Cut(value, "-"); version().MatchString(value) { // "2025.3.2.474-26113717666v0"
					parts := strings.Split(value, ".")
					o.tool = "nsys " + strings.Join(parts[:min(3, len(parts))], ".")
				}
			case "EXPORT_SCHEMA_VERSION":
				if version().MatchString(value) {
					o.schema = value
				}
			case "EXPORT_TIME_UTC":
				if t, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(value, "Z")); err == nil {
					o.time = t
				}
			case "EXPORT_PARAM_TIME_NORMALIZE":
				o.utc = value == "true"
			case "EXPORT_PARAM_TABLES_TO_EXPORT":
				o.tables = strings.Fields(value)
			case "EXPORT_PARAM_TIMES_TO_EXPORT":
				o.part = value != ""
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
				"%s: %s: it was written by an nsys that is newer than this nsgate", db.name,
				fmt.Sprintf("it holds %s instead of %s", table, name))
		}
	}
	return nil
}

var successor = input.Pattern(`_V\d+$`)
