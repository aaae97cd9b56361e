package result

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// Keys that other code asks for, beside that of their row.
const (
	KeyAttribute     = "attribute"
	KeyBaseNotNeeded = "base-not-needed"
	KeyCalls         = "calls"
	KeyCountFromZero = "count-from-zero"
	KeyHostDenied    = "host-denied"
	KeyIncreased     = "increased-count"
	KeyMemory        = "memory"
	KeyMoreRuns      = "more-runs"
	KeyNames         = "names"
	KeyNotJudged     = "not-judged"
	KeyOneRun        = "one-run"
	KeyOverDrift     = "over-drift"
	KeyReplaced      = "replaced"
	KeyReplaces      = "replaces"
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

// Keys lists every reason, by key, as the manual and the JSON schemas show them. Those of refusals are in model.Kinds.
var Keys []Key

// shapes are the rows of types with the fields that are their arguments.
var shapes = map[reflect.Type]shape{}

type shape struct {
	key    string
	fields []shapeField
}

type shapeField struct {
	name  string
	index []int
}

// plain is a reason without arguments, which has its key in itself.
type plain interface{ Key() string }

// Keyed adds the row of a type of reasons, or of a reason without arguments, and returns its key.
func Keyed(key string, r Reason, means string) string {
	at, twice := slices.BinarySearchFunc(Keys, key, func(k Key, key string) int { return strings.Compare(k.Key, key) })
	row, s, t := Key{Key: key, Means: means}, shape{key: key}, reflect.TypeOf(r)
	if _, ok := shapes[t]; ok || twice {
		panic(fmt.Sprintf("two rows of the key %s or the reason %T", key, r))
	}
	if _, ok := r.(plain); !ok {
		for _, f := range reflect.VisibleFields(t) {
			if f.IsExported() && !f.Anonymous {
				row.Args = append(row.Args, argName(f.Name))
				s.fields = append(s.fields, shapeField{argName(f.Name), f.Index})
			}
		}
		shapes[t] = s
	}
	Keys = slices.Insert(Keys, at, row)
	return key
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
