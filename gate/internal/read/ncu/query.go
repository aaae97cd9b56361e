package ncu

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/proc"
)

// Catalog holds the metrics that `ncu --query-metrics` lists, without suffix, and the type of each.
type Catalog map[string]string

// Query asks an ncu for the metrics of this host's GPUs. The catalog is empty where ncu does not answer.
func Query(ctx context.Context, ncu string) Catalog {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	var out bytes.Buffer
	if proc.Run(ctx, "", &out, nil, ncu, "--query-metrics") != nil {
		return nil
	}
	c := Catalog{}
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		// Descriptions wrap into lines that begin with spaces.
		if words := strings.Fields(lines.Text()); len(words) > 1 && strings.HasPrefix(lines.Text(), words[0]) &&
			strings.Contains(words[0], "__") {
			c[words[0]] = words[1]
		}
	}
	return c
}

// Check gives the error of a metric that is not in the catalog. Metrics of a launch, a device or the source code have
// other lists, and ncu itself refuses those that it lacks.
func (c Catalog) Check(name string) error {
	unit, _, counted := strings.Cut(name, "__")
	if len(c) == 0 || !counted || slices.Contains([]string{"launch", "device", "sass", "derived", "numa", "nvlink",
		"c2clink", "profiler"}, unit) {
		return nil
	}
	if kind, ok := c[name]; ok {
		return fmt.Errorf("%s needs a suffix: %s", name, strings.Join(suffixes(kind), ", "))
	}
	for at, r := range name {
		if kind, ok := c[name[:at]]; ok && r == '.' {
			first, _, _ := strings.Cut(name[at+1:], ".")
			if !slices.Contains(suffixes(kind), "."+first) {
				return fmt.Errorf("%s has no suffix .%s: it has %s", name[:at], first,
					strings.Join(suffixes(kind), ", "))
			}
			return nil
		}
	}
	base, suffix, _ := strings.Cut(name, ".")
	advice := "`ncu --query-metrics` lists them"
	if near := measure.Nearest(base, slices.Collect(maps.Keys(c))); near != "" {
		advice = "did you mean " + strings.TrimSuffix(near+"."+suffix, ".") + "?"
	}
	return fmt.Errorf("ncu has no metric %s on this GPU: %s", quote(name), advice)
}

// suffixes are those of a type of metrics.
func suffixes(kind string) []string {
	if kind == "Ratio" {
		return []string{".max_rate", ".pct", ".ratio"}
	}
	return []string{".avg", ".max", ".min", ".sum"}
}
