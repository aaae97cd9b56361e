package locate

import (
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/internal/input"
)

// How a definition is related to a kernel: another one, maybe its own, for the source has other names of types or the
// kernel's are not known, or its own.
const unlike, possible, exact = 0, 1, 2

// item is an argument or parameter, and list any number of them.
const (
	item = `(?:[^,()<>{}]|\{[^{}]*\}|` + parens + `|` + angles + `)+`
	list = `((?:` + item + `(?:,` + item + `)*)?)`
)

var (
	items = input.Pattern(item)
	// signature matches what stands behind a name: template arguments and parameters.
	signature   = input.Pattern(`^\s*(?:<` + list + `>)?\s*\((?:\s*void\s*|` + list + `)\)`)
	template    = input.Pattern(`\btemplate\s*<|\bauto\b`)
	specialised = input.Pattern(`\btemplate\s*<\s*>`)
	macro       = input.Pattern(`\b[A-Z][A-Z0-9_]+\b`) // which may hold any of them
	// uncounted matches parameters whose number the preprocessor or an instance knows.
	uncounted = input.Pattern(`#|\.\.\.|(?:^|,)\s*[A-Z_][A-Z0-9_]+\s*(?:[,(]|$)`)
	// beside matches what stands beside a type: a default, attributes, a cast of a number, qualifiers.
	beside = input.Pattern(`(?s:=.*)|\[\[[^\]]*\]\]|^\s*\([^()*]*\)|\b(?:const|volatile|(?:__)?restrict(?:__)?|` +
		`struct|typename|__grid_constant__)\b`)
	array = input.Pattern(`\[[^\]]*\]`)
	word  = input.Pattern(`\w+|[*&]`)
	// builtin matches the words of types that are no names of the program.
	builtin = input.Pattern(`^(?:void|bool|unsigned|u?(?:char|short|int|long)[1-4]?|(?:float|double)[1-4]?|` +
		`(?:__)?(?:half|nv_bfloat16)2?|[*&]|\d+[uUlL]*)$`)
	unresolved = input.Pattern(`\bT\d+\b`) // the type of a parameter of a template
)

// fits compares a place with the signature of a kernel, nil where it is not known.
func (p place) fits(kernel []string) int {
	source := signature().FindStringSubmatch(p.after)
	if kernel == nil || source == nil {
		return possible
	}
	special := source[1] != "" || specialised().MatchString(p.before)
	args, parameters := alike(kernel[1], source[1], false), alike(kernel[2], source[2], true)
	if uncounted().MatchString(kernel[2]) || uncounted().MatchString(source[2]) {
		parameters = possible
	}
	made := special || template().MatchString(p.before+p.after)
	switch {
	case min(args, parameters) == unlike, kernel[1] == "" && made,
		kernel[1] != "" && !made && !macro().MatchString(p.before):
		return unlike
	case kernel[1] != "" && !special:
		return possible
	case source[1] != "":
		return args
	}
	return parameters
}

// alike compares the types of a kernel with those of a source, which has fewer arguments where they are deduced.
func alike(types, source string, parameters bool) int {
	all, own := items().FindAllString(types, -1), items().FindAllString(source, -1)
	if len(own) > len(all) || parameters && len(own) < len(all) {
		return unlike
	}
	of := exact - min(len(all)-len(own), 1) // arguments that are left out may have defaults
	for i, text := range own {
		want, wantNames := spelled(all[i])
		got, names := spelled(text)
		unnamed := names[:max(0, len(names)-1)]
		switch {
		case slices.Equal(want, got) &&
			(slices.Equal(wantNames, names) || parameters && slices.Equal(wantNames, unnamed)):
		case len(got) > 0 && got[len(got)-1] > "*" && (len(names) == 0 || parameters && len(unnamed) == 0) &&
			!unresolved().MatchString(all[i]):
			return unlike
		default:
			of = possible
		}
	}
	return of
}

// spelled are the words of a type, without its qualifiers: those of the language in order, then the others.
func spelled(text string) (builtins, names []string) {
	text = strings.NewReplacer("true", "1", "false", "0").Replace(beside().ReplaceAllString(text, ""))
	for i, w := range word().FindAllString(array().ReplaceAllString(text, "*"), -1) {
		if builtin().MatchString(w) && (i == 0 || w != "half") { // the name of a parameter
			builtins = append(builtins, strings.TrimLeft(strings.TrimRight(w, "uUlL"), "_")) // 4ul, __half
		} else {
			names = append(names, w)
		}
	}
	slices.Sort(builtins)
	if i := slices.Index(builtins, "int"); i >= 0 && len(builtins) > i+1 { // long, short, unsigned
		builtins = slices.Delete(builtins, i, i+1)
	}
	return builtins, names
}
