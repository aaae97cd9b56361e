package command_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	invopop "github.com/invopop/jsonschema"
	"github.com/pelletier/go-toml/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/nsgate/nsgate/gate/internal/app"
	"github.com/nsgate/nsgate/gate/internal/cli"
	"github.com/nsgate/nsgate/gate/internal/history"
	"github.com/nsgate/nsgate/gate/internal/judge/calibrate"
	"github.com/nsgate/nsgate/gate/internal/manual"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/result"
	"github.com/nsgate/nsgate/gate/internal/run/doctor"
	"github.com/nsgate/nsgate/thresholds"
)

const schemas = "https://raw.githubusercontent.com/nsgate/nsgate/main/cmd/nsgate/docs/schema/"

// written are the kinds of JSON that nsgate writes, by the name of their schema. Those with a version say in
// themselves which they are; the others are what the command of that name prints, settings what policy does.
var written = map[string]struct {
	version string
	value   any
}{
	"accept":      {"", cli.Acceptances{}},
	"baseline":    {"", []app.StoredBaseline{}},
	"code":        {"nsgate.code/1", app.DeviceCode{}},
	"bisection":   {history.BisectSchema, history.Bisection{}},
	"calibration": {calibrate.CalibrationSchema, calibrate.Calibration{}},
	"doctor":      {"", cli.Examination{}},
	"explain":     {"", []manual.Entry{}},
	"history":     {history.HistorySchema, history.History{}},
	"init":        {"", cli.Beginning{}},
	"record":      {"", cli.Recordings{}},
	"report":      {result.Schema, result.Report{}},
	"settings":    {"", cli.Settings{}},
	"summary":     {result.SummarySchema, result.Summary{}},
}

// TestSchemas compares the manual's schemas with the keys of the policy and the types of reports; -update rewrites
// them.
func TestSchemas(t *testing.T) {
	t.Parallel()
	schemas := map[string]any{"policy": policySchema(t)}
	for name, w := range written {
		schemas[name] = jsonSchema(t, name, w.version, w.value)
	}
	for name, schema := range schemas {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		if err := enc.Encode(schema); err != nil {
			t.Fatal(err)
		}
		// A line a key, without the blanks, which are a third of the bytes in the binary; nsgate schema prints them.
		want = *bytes.NewBuffer(regexp.MustCompile(`(?m)^ +`).ReplaceAll(want.Bytes(), nil))
		file := filepath.Join("../../cmd/nsgate/docs", "schema", name+".json")
		got, err := os.ReadFile(file)
		switch {
		case err == nil && bytes.Equal(got, want.Bytes()):
		case *update:
			if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s is not what the code says (%v); go test ./gate/command -run TestSchemas -update rewrites it",
				file, err)
		}
	}
}

type object map[string]any

// kinds are the types of values of a policy file by their names in the keys; quoted words are a choice.
var kinds = map[string]object{
	"percentage":          {"type": "string", "pattern": `^\s*[0-9]*\.?[0-9]+\s*%\s*$`},
	"text":                {"type": "string", "minLength": 1},
	"name":                {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},
	"filter":              {"type": "string", "pattern": `\S`},
	"pattern":             {"type": "string", "pattern": `^\S(.*\S)?$`},
	"regular expression":  {"type": "string", "pattern": `\(`},
	"duration":            {"type": "string", "pattern": `^\s*([0-9.]+(ns|us|µs|ms|s|m|h))+\s*$`},
	"address or log:TEXT": {"type": "string", "pattern": `^(http://(localhost|127\.[0-9.]+|\[::1\]):[0-9]+|log:.)`},
	"days":                {"type": "string", "pattern": `^\s*[0-9]+\s*d\s*$`},
	"ranks":               {"type": "string", "pattern": `^\s*[0-9]+(-[0-9]+)?(\s*,\s*[0-9]+(-[0-9]+)?)*\s*$`},
	"amount":              {"type": "string", "pattern": `^\s*[0-9]*\.?[0-9]+\s*([A-Za-zµ%/]+)?\s*$`},
	"true or false":       {"type": "boolean"},
	"whole number":        {"type": "integer", "minimum": 1},
	"number of steps or text": {"oneOf": []object{{"type": "integer", "minimum": 0},
		{"type": "string", "pattern": `^\s*(auto|capture|[0-9]+)\s*$`}}},
	"number of runs or text": {"oneOf": []object{{"type": "integer", "minimum": 1, "maximum": thresholds.MaxRuns},
		{"type": "string", "pattern": `^[0-9]+(\.\.[0-9]+)?$`}}},
	"words":    listable,
	"patterns": listable,
}

// listable is a text or a list of texts.
var listable = object{"oneOf": []object{{"type": "string", "minLength": 1},
	{"type": "array", "minItems": 1, "items": object{"type": "string"}}}}

// policySchema is the JSON schema of nsgate.toml, in the draft that editors of TOML know.
func policySchema(t *testing.T) object {
	tables := map[string]object{}
	for _, k := range thresholds.Keys() {
		if tables[k.Table] == nil {
			tables[k.Table] = object{"type": "object", "additionalProperties": false, "properties": object{}}
		}
		value := object{"description": k.Doc}
		if words := regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(k.Type, -1); len(words) > 0 {
			var enum []string
			for _, w := range words {
				enum = append(enum, w[1])
			}
			value["type"], value["enum"] = "string", enum
		} else if kind := kinds[k.Type]; kind == nil {
			t.Fatalf("%s.%s: no schema is known of a %q; give it a row in kinds", k.Table, k.Name, k.Type)
		} else {
			for name, x := range kind {
				value[name] = x
			}
			if k.Type == "duration" && strings.Contains(k.Doc, `or "none"`) {
				value["pattern"] = kind["pattern"].(string) + "|^none$"
			}
		}
		if k.Literal() {
			value["default"] = literal(t, k.Default)
		}
		value["examples"] = []any{literal(t, k.Example)}
		table := tables[k.Table]
		table["properties"].(object)[k.Name] = value
		if k.Default == "required" {
			required, _ := table["required"].([]string)
			table["required"] = append(required, k.Name)
		}
	}
	list := func(table, about string) object {
		return object{"type": "array", "description": about, "items": tables[table]}
	}
	tables["workload"]["properties"].(object)["output"] = list("workload.output",
		"a number that the workload prints of itself")
	tables["workload"]["properties"].(object)["results"] = list("workload.results",
		"files in which a benchmark harness writes what it measured")
	tables["workload.server"]["description"] = "the server that the command loads, started and stopped in each run"
	tables["workload"]["properties"].(object)["server"] = tables["workload.server"]
	root := tables[""]
	root["properties"].(object)["workload"] = list("workload", "a program that is measured")
	root["properties"].(object)["rule"] = list("rule",
		"what holds for some kernels, ranges or metrics; the first rule that matches applies")
	root["properties"].(object)["ratio"] = list("ratio", "the quotient of two rows of one run, judged as a row")
	root["$schema"], root["$id"], root["title"] = "http://json-schema.org/draft-07/schema#", schemas+"policy.json",
		"nsgate.toml, the policy file of nsgate"
	return root
}

// literal is a value as a policy file writes it.
func literal(t *testing.T, text string) any {
	var v struct{ X any }
	if err := toml.Unmarshal([]byte("x = "+text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v.X
}

// goComments are the doc comments of the code by identifier.
var goComments = sync.OnceValues(func() (map[string]string, error) {
	var r invopop.Reflector
	// Where a package lies is put behind the module's path, and two steps up again.
	err := r.AddGoComments("github.com/nsgate/nsgate/gate/command", "../../gate")
	for name, text := range r.CommentMap {
		r.CommentMap[name] = strings.NewReplacer("[", "", "]", "").Replace(strings.Join(strings.Fields(text), " "))
	}
	return r.CommentMap, err
})

// jsonSchema is the JSON schema of a report. Later releases may add fields, so that other fields are allowed.
func jsonSchema(t *testing.T, name, version string, value any) *invopop.Schema {
	number := func() *invopop.Schema {
		return &invopop.Schema{OneOf: []*invopop.Schema{{Type: "number"}, {Type: "null"}}}
	}
	r := &invopop.Reflector{AllowAdditionalProperties: true, Mapper: func(x reflect.Type) *invopop.Schema {
		switch x {
		case reflect.TypeFor[result.Number]():
			return number()
		case reflect.TypeFor[model.Values]():
			return &invopop.Schema{OneOf: []*invopop.Schema{{Type: "array", Items: number()}, {Type: "null"}}}
		case reflect.TypeFor[model.SessionList]():
			return &invopop.Schema{Type: "string", ContentEncoding: "base64", ContentMediaType: "application/gzip"}
		case reflect.TypeFor[result.Args]():
			return &invopop.Schema{Type: "object", AdditionalProperties: &invopop.Schema{
				OneOf: []*invopop.Schema{{Type: "string"}, {Type: "boolean"}, {Type: "number"}, {Type: "null"},
					{Type: "array", Items: &invopop.Schema{Type: "string"}}}}}
		case reflect.TypeFor[doctor.Mark]():
			return &invopop.Schema{Type: "string", Enum: []any{doctor.Good, doctor.Note, doctor.Bad}}
		case reflect.TypeFor[result.Verdict]():
			return &invopop.Schema{Type: "string", Enum: []any{result.Pass, result.Fail, result.NoVerdict}}
		case reflect.TypeFor[result.Outcome]():
			s := &invopop.Schema{Type: "string"}
			for _, o := range result.Outcomes {
				s.Enum = append(s.Enum, o)
			}
			return s
		}
		return nil
	}}
	var err error
	if r.CommentMap, err = goComments(); err != nil {
		t.Fatal(err)
	}
	s := r.Reflect(value)
	s.ID, s.Title = invopop.ID(schemas+name+".json"), "a "+name+" of nsgate, "+version
	if version == "" {
		s.Title = "JSON of nsgate " + strings.Replace(name, "settings", "policy", 1)
	}
	keys := &invopop.Schema{Type: "string", Description: "the word that names a reason or a refusal"}
	for _, k := range result.Keys() {
		keys.Enum = append(keys.Enum, k.Key)
	}
	for _, k := range model.Kinds {
		keys.Enum = append(keys.Enum, k.Kind)
	}
	if f := s.Definitions["Finding"]; f != nil {
		s.Definitions["FindingSubject"], s.Definitions["Comparison"] = levels(f)
		list, _ := s.Definitions["Report"].Properties.Get("subjects")
		*list = invopop.Schema{Type: "array", Items: &invopop.Schema{Ref: "#/$defs/FindingSubject"},
			Description: "Subjects are in the order of their worst metrics."}
		delete(s.Definitions, "Findings")
		if name == "report" {
			delete(s.Definitions, "Finding")
		}
	}
	for _, d := range s.Definitions {
		for _, field := range []string{"reason_key", "key"} {
			if d.Properties == nil {
				continue
			}
			if x, ok := d.Properties.Get(field); ok {
				x.Type, x.Ref, s.Definitions["Key"] = "", "#/$defs/Key", keys
			}
		}
	}
	if version == "" {
		return s
	}
	schema, _ := s.Definitions[reflect.TypeOf(value).Name()].Properties.Get("schema")
	schema.Const = version
	return s
}

// levels are the schemas of a subject in findings and of its metrics, whose fields are those of a finding.
func levels(finding *invopop.Schema) (subject, metric *invopop.Schema) {
	of := func(text string) *invopop.Schema {
		return &invopop.Schema{Type: "object", Properties: invopop.NewProperties(), Description: text}
	}
	subject, metric = of("A subject, which stands again where its metrics differ in a field of it."),
		of(finding.Description)
	for f := range reflect.TypeFor[result.Finding]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		to := metric
		if _, of := f.Tag.Lookup("of"); of {
			to = subject
		}
		x, _ := finding.Properties.Get(name)
		to.Properties.Set(name, x)
		if slices.Contains(finding.Required, name) && f.Type.Kind() != reflect.Bool {
			to.Required = append(to.Required, name)
		}
	}
	subject.Properties.Set("at", &invopop.Schema{Type: "array", Items: &invopop.Schema{Type: "integer"},
		Description: "The places of the metrics among all, the worst at 0; causes name findings by these."})
	subject.Properties.Set("metrics", &invopop.Schema{Type: "array", Items: &invopop.Schema{Ref: "#/$defs/Comparison"}})
	subject.Required = append(subject.Required, "at", "metrics")
	return subject, metric
}

// compiled are the schemas of the manual; scripts ask for them at the same time.
var compiled = func() map[string]func() (*jsonschema.Schema, error) {
	all := map[string]func() (*jsonschema.Schema, error){}
	for _, name := range append(slices.Collect(maps.Keys(written)), "policy") {
		all[name] = sync.OnceValues(func() (*jsonschema.Schema, error) {
			return jsonschema.NewCompiler().Compile(filepath.Join("../../cmd/nsgate/docs", "schema", name+".json"))
		})
	}
	return all
}()

// validate holds JSON against the schema of a name.
func validate(name string, text []byte) error {
	compile, ok := compiled[name]
	if !ok {
		return fmt.Errorf("no schema %q", name)
	}
	schema, err := compile()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// TestExplainSchema holds what explain prints of every word against its schema.
func TestExplainSchema(t *testing.T) {
	t.Parallel()
	for _, word := range manual.Words() {
		text, err := json.Marshal(manual.Explain(word))
		if err == nil {
			err = validate("explain", text)
		}
		if err != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
}

// TestPolicySchema compares the schema with the reader of the policy, in both directions: policies in files, and keys
// with values that do not fit.
func TestPolicySchema(t *testing.T) {
	check := func(text string) error {
		var v map[string]any
		if err := toml.Unmarshal([]byte(text), &v); err != nil {
			return err
		}
		asJSON, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return validate("policy", asJSON)
	}
	good := []string{"", "# nothing\n"}
	for _, pattern := range []string{"../../thresholds/testdata/*.toml", "../../testdata/*/nsgate.toml",
		"../../testdata/examples/*/nsgate.toml"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			good = append(good, string(text))
		}
	}
	for _, page := range pages(t) {
		for _, b := range page.blocks("toml") {
			good = append(good, b.text)
		}
	}
	if len(good) < 8 {
		t.Fatalf("%d policies", len(good))
	}
	for _, text := range good {
		if _, err := thresholds.Parse("x.toml", []byte(text)); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		if err := check(text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	for _, text := range []string{
		`threshold = 0.03`, `threshold = "3"`, `threshold = true`, `treshold = "3%"`, `undecided = "pass"`,
		"[rule]\nmax = \"3%\"",
		"[[rules]]\nmax = \"3%\"", "[[rule]]\nstep = \"s\"\nmax = \"3%\"", "[[rule]]\nseverity = \"error\"",
		"[[rule]]\nkernel = \"a \"\nmax = \"1%\"",
		"[[workload]]\nruns = 3", "[[workload]]\nname = \"../x\"",
		"[[workload]]\nname = \"a\"\nruns = \"five\"", "[[workload]]\nname = \"a\"\nruns = 0",
		"[[workload]]\nname = \"a\"\ntimeout = \"90\"", "[[workload]]\nname = \"a\"\nwarmup = -1",
		"[[workload]]\nname = \"a\"\ncommand = []",
		"[[workload]]\nname = \"a\"\n[[workload.output]]\nname = \"b\"",
	} {
		if _, err := thresholds.Parse("x.toml", []byte(text)); err == nil {
			t.Errorf("nsgate reads %s", text)
		}
		if err := check(text); err == nil {
			t.Errorf("the schema allows %s", text)
		}
	}
}

// TestWrittenSchemas holds the schemas against what is kept as JSON, and against what lacks a field. Scripts hold them
// against what commands write.
func TestWrittenSchemas(t *testing.T) {
	for name, x := range map[string]struct {
		files  string
		needed []string
	}{
		"calibration": {"calibration/*.json", []string{"schema", "sound", "gates", "plan"}},
		"report":      {"*.json", []string{"schema", "verdict", "subjects", "counts"}},
		"summary":     {"summary/*.json", []string{"schema", "recorded", "kernels"}},
	} {
		files, err := filepath.Glob("../../gate/internal/report/testdata/" + x.files)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, file := range files {
			if strings.Count(filepath.Base(file), ".") > 1 { // JSON of another format
				continue
			}
			seen++
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text = bytes.ReplaceAll(text, []byte("of-a-later-release"), []byte("gpu-idle"))
			if err := validate(name, text); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			for _, without := range x.needed {
				var fields map[string]any
				if err := json.Unmarshal(text, &fields); err != nil {
					t.Fatal(err)
				}
				delete(fields, without)
				less, err := json.Marshal(fields)
				if err != nil {
					t.Fatal(err)
				}
				if err := validate(name, less); err == nil {
					t.Errorf("the schema allows %s without %q", file, without)
				}
			}
		}
		if seen < 4 {
			t.Errorf("%d files of a %s", seen, name)
		}
	}
}
