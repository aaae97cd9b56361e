package result

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Keys that other code asks for, beside that of their row.
const (
	KeyAttribute     = "attribute"
	KeyBaseNotNeeded = "base-not-needed"
	KeyBoundsBroken  = "bounds-broken"
	KeyCountFromZero = "count-from-zero"
	KeyHostDenied    = "host-denied"
	KeyIncreased     = "increased-count"
	KeyMemory        = "memory"
	KeyMoreRuns      = "more-runs"
	KeyNames         = "names"
	KeyNotJudged     = "not-judged"
	KeyOneRun        = "one-run"
	KeyOverDrift     = "over-drift"
	KeyTraded        = "traded"
	KeyTwoLevels     = "two-levels"
	KeyUndecided     = "undecided"
	KeyUnmeasured    = "unmeasured"
	KeyWaiting       = "waiting"
	KeyWithAll       = "with-all"
)

// Key is a row of [Keys]: the word that names a reason in every report, the names of its arguments, and its meaning.
type Key struct {
	Key   string
	Args  []string
	Means string
}

// keyed is a row as Keyed gets it.
type keyed struct {
	key    string
	reason Reason
	means  string
}

var (
	rows   []keyed
	keyOf  = map[reflect.Type]string{}
	fields sync.Map // []field by type: found at the first use, as few types are used in a command
)

// field is an exported field of a type of reasons: an argument.
type field struct {
	name  string
	index []int
}

// plain is a reason without arguments, which has its key in itself.
type plain interface{ Key() string }

// Keyed adds the row of a type of reasons, or of a reason without arguments, and returns its key.
func Keyed(key string, r Reason, means string) string {
	rows = append(rows, keyed{key, r, means})
	keyOf[reflect.TypeOf(r)] = key
	return key
}

// Keys lists every reason, by key, as the manual and the JSON schemas show them. Those of refusals are in model.Kinds.
// It panics where two rows have one key or one type.
func Keys() (keys []Key) {
	for _, x := range rows {
		row := Key{Key: x.key, Means: x.means}
		if _, ok := x.reason.(plain); !ok {
			if keyOf[reflect.TypeOf(x.reason)] != x.key {
				panic(fmt.Sprintf("two rows of the reason %T", x.reason))
			}
			for _, f := range fieldsOf(reflect.TypeOf(x.reason)) {
				row.Args = append(row.Args, f.name)
			}
		}
		at, twice := slices.BinarySearchFunc(keys, x.key,
			func(k Key, key string) int { return strings.Compare(k.Key, key) })
		if twice {
			panic("two rows of the key " + x.key)
		}
		keys = slices.Insert(keys, at, row)
	}
	return keys
}

// fieldsOf are the arguments of a type of reasons.
func fieldsOf(t reflect.Type) (out []field) {
	if known, ok := fields.Load(t); ok {
		return known.([]field)
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() && !f.Anonymous {
			out = append(out, field{argName(f.Name), f.Index})
		}
	}
	fields.Store(t, out)
	return out
}

// argName puts underscores between the words of a field's name, in lower case: "BaseClock" becomes "base_clock".
func argName(field string) string {
	var b strings.Builder
	runes := []rune(field)
	for i, r := range runes {
		begins := i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if unicode.IsUpper(r) && begins {
			b.WriteRune('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
