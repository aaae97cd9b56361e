package nsys

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
	"github.com/nsgate/nsgate/gate/internal/testdata/exporttest"
)

// age is how a generation of nsys declares its tables: columns in their order, without those that it does not have.
type age struct {
	name   string
	tables map[string]string // → columns, separated by blanks; text columns end in a colon
	meta   string            // the table of versions, "" for none
	tool   string
	schema string
	// reversed is true where rows come in no order: nsys promises none since 2025.6.
	reversed bool
	warning  string
}

const (
	activityHead = "start end deviceId contextId streamId correlationId globalPid"
	greenHead    = "start end deviceId contextId greenContextId streamId correlationId globalPid" // 2024.1
	named        = " demangledName shortName"
	kernelBody   = " launchType cacheConfig registersPerThread gridX gridY gridZ blockX blockY blockZ " +
		"staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal gridId sharedMemoryExecuted " +
		"graphNodeId"
	kernel2020 = activityHead + named + kernelBody
	kernel2021 = kernel2020 + " sharedMemoryLimitConfig"
	kernel2022 = activityHead + named + " mangledName" + kernelBody + " sharedMemoryLimitConfig"
	kernel2024 = greenHead + named + " mangledName" + kernelBody + " sharedMemoryLimitConfig"
	kernel2025 = kernel2024 + " qmdBulkReleaseDone qmdPreexitDone qmdLastCtaDone graphId clusterX clusterY clusterZ " +
		"clusterSchedulingPolicy maxPotentialClusterSize maxActiveClusters"
	kernel2026 = kernel2025 + " sharedMemoryRequestedPercentage tensorSizeMinusOneElements:"

	runtime2020 = "start end eventClass globalTid correlationId nameId returnValue"
	runtime2021 = runtime2020 + " callchainId"

	copyBody = " bytes copyKind deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId dstContextId"
	copy2020 = activityHead + copyBody + " graphNodeId"
	copy2022 = activityHead + copyBody + " migrationCause graphNodeId virtualAddress"
	copy2025 = greenHead + copyBody + " migrationCause graphNodeId virtualAddress copyCount"

	ranges2020 = "start end eventType rangeId category color text: globalTid endGlobalTid textId domainId " +
		"uint64Value " +
		"int64Value doubleValue uint32Value int32Value floatValue jsonTextId jsonText:"
	ranges2024 = ranges2020 + " binaryData:"

	sync2023 = activityHead + " syncType eventId"
	sync2025 = greenHead + " deprecatedSyncType syncType eventId eventSyncId"

	cudaGPU2020 = "vmId name: pciBusId: globalMemoryBandwidth numMultiprocessors deviceId pid"
	gpu2021     = "vmId deviceId name: busLocation: isDiscrete"
	gpu2022     = "vmId id name: busLocation: isDiscrete l2CacheSize totalMemory memoryBandwidth clockRate smCount " +
		"pwGpuId uuid: luid chipName: cuDevice"
	device2025 = "gpuId cudaId pid"
	device2026 = device2025 + " uuid: numMultiprocessors"

	nameValue    = "name: value:"
	sessionStart = "utcEpochNs utcTime: localTime:"
)

// tables joins the tables of name, columns, name, columns … to those of the maps before; later ones replace earlier.
func tables(sets []map[string]string, more ...string) map[string]string {
	all := make(map[string]string)
	for _, s := range sets {
		maps.Copy(all, s)
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

var ages = func() []age {
	type set = map[string]string
	activity := func(kernel, runtime, copied, ranges string) set {
		return set{"StringIds": "id value:", kernelTable: kernel, runtimeTable: runtime, copyTable: copied,
			rangeTable: ranges}
	}
	y2020 := activity(kernel2020, runtime2020, copy2020, ranges2020)
	y2021 := activity(kernel2021, runtime2021, copy2020, ranges2020)
	y2022 := activity(kernel2022, runtime2021, copy2022, ranges2020)
	y2024 := activity(kernel2024, runtime2021, copy2025, ranges2024)
	y2025 := activity(kernel2025, runtime2021, copy2025, ranges2024)
	y2026 := activity(kernel2026, runtime2021, copy2025, ranges2024)
	next := activity("newest: "+strings.ReplaceAll(kernel2026, " ", " new "), "id "+runtime2021+" blob:",
		"more: "+copy2025, "payload: "+ranges2024)
	next["StringIds"] = "hash: id value: length"
	unused := make(set) // what exports hold that are not lazy: about 60 tables, most of them empty
	for i := range 50 {
		unused[fmt.Sprintf("UNUSED_%d", i)] = "start end"
	}
	for _, name := range []string{setTable, memoryTable, "CUDA_GRAPH_EVENTS"} {
		unused[name] = "start end bytes memKind address memoryOperationType graphId"
	}
	session := set{"TARGET_INFO_GPU": gpu2022, "TARGET_INFO_SESSION_START_TIME": sessionStart}
	talk := set{"META_DATA_CAPTURE": nameValue,
		diagnosticTable: "timestamp timestampType source severity text: globalPid"}
	all := func(s ...set) []set { return s }
	const device, oldMeta, meta = "TARGET_INFO_CUDA_DEVICE", "EXPORT_META_DATA", "META_DATA_EXPORT"
	return []age{
		{name: "2020.3", tool: "nsys", tables: tables(all(y2020), "TARGET_INFO_CUDA_GPU", cudaGPU2020,
			"cudaAPIStats", "nameId num", "ms", "maxStart", "NvtxPushPopRanges", "id start end")},
		{name: "2021.3", tool: "nsys", tables: tables(all(y2021), "TARGET_INFO_CUDA_GPU", cudaGPU2020)},
		{name: "2021.5", tool: "nsys 2021.5.2", schema: "2.7.0", meta: oldMeta, tables: tables(all(y2022),
			"TARGET_INFO_GPU", gpu2021, "ANALYSIS_DETAILS", "globalVid duration")},
		{name: "2022.1", tool: "nsys 2022.1.3", schema: "2.9.1", meta: oldMeta, tables: tables(all(y2022, session))},
		{name: "2022.4, not lazy", tool: "nsys 2022.4.2", schema: "3.0.0", meta: meta,
			tables: tables(all(y2022, session, unused))},
		{name: "2023.2", tool: "nsys 2023.2.3", schema: "3.1.7", meta: meta, tables: tables(all(y2022, session),
			"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", sync2023)},
		{name: "2024.1", tool: "nsys 2024.1.1", schema: "3.7.4", meta: meta, tables: tables(all(y2024, session))},
		{name: "2024.6", tool: "nsys 2024.6.2", schema: "3.16.1", meta: meta,
			tables: tables(all(y2024, session, talk))},
		{name: "2025.1", tool: "nsys 2025.1.3", schema: "3.17.2", meta: meta, tables: tables(all(y2024, session, talk),
			device, device2025, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", sync2025)},
		{name: "2025.5", tool: "nsys 2025.5.1", schema: "3.23.3", meta: meta, tables: tables(all(y2025, session, talk),
			device, device2025, "CUPTI_ACTIVITY_KIND_OVERHEAD", "start end")},
		{name: "2025.6", tool: "nsys 2025.6.1", schema: "3.24.7", meta: meta, tables: tables(all(y2025, session, talk),
			device, device2026), reversed: true},
		{name: "2026.2", tool: "nsys 2026.2.1", schema: "3.25.0", meta: meta, tables: tables(all(y2026, session, talk),
			device, device2026), reversed: true},
		{name: "what comes next", tool: "nsys 2027.1.1", schema: "4.0.0", meta: meta,
			tables: tables(all(next, session, talk), device, "process: "+device2026, "CUPTI_ACTIVITY_KIND_TENSOR_CORE",
				"start end", "DYNAMIC_NVTXPAYLOAD_7", "a: b:"), reversed: true,
			warning: "written by nsys 2027.1.1 (schema 4.0.0), newer than this nsgate knows"},
	}
}()

// write builds the same recording as every age would have exported it.
func (a *age) write(t testing.TB) string {
	t.Helper()
	declared := maps.Clone(a.tables)
	if a.meta != "" {
		declared[a.meta] = nameValue
	}
	var statements []string
	columns := func(table string) (names []string, text map[string]bool) {
		text = make(map[string]bool)
		for column := range strings.FieldsSeq(declared[table]) {
			name, isText := strings.CutSuffix(column, ":")
			text[name] = isText
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return names, text
	}
	for _, table := range slices.Sorted(maps.Keys(declared)) {
		names, text := columns(table)
		for i, name := range names {
			kind := "INTEGER"
			if text[name] {
				kind = "TEXT"
			}
			names[i] = fmt.Sprintf("%q %s", name, kind)
		}
		statements = append(statements, fmt.Sprintf("CREATE TABLE %q (%s)", table, strings.Join(names, ", ")))
	}
	type row = map[string]any
	add := func(table string, rows ...row) {
		if _, ok := declared[table]; !ok {
			return
		}
		if a.reversed {
			slices.Reverse(rows)
		}
		names, text := columns(table)
		for _, row := range rows {
			values := make([]string, len(names))
			for i, name := range names {
				v, given := row[name]
				s, quoted := v.(string)
				switch {
				case quoted:
					values[i] = "'" + s + "'"
				case !given && text[name]:
					values[i] = "'4711'" // text that could be a number
				case v == nil:
					values[i] = "NULL"
				default:
					values[i] = fmt.Sprint(v)
				}
			}
			statements = append(statements, fmt.Sprintf("INSERT INTO %q VALUES (%s)", table,
				strings.Join(values, ", ")))
		}
	}
	for i, s := range []string{"void k<float>(float*)", "k", "_Z1kIfEvPf", "cudaLaunchKernel_v7000",
		"cudaMemcpyAsync_v3020", "layer", "domain"} {
		add("StringIds", row{"id": i + 1, "value": s})
	}
	kernel := func(start, id int) row {
		return row{"start": start, "end": start + 640, "deviceId": 0, "contextId": 1, "streamId": 7,
			"correlationId": id, "globalPid": pidA, "demangledName": 1, "shortName": 2, "mangledName": 3,
			"registersPerThread": 32, "gridX": 4, "gridY": 1, "gridZ": 1, "blockX": 256, "blockY": 1, "blockZ": 1,
			"staticSharedMemory": 16, "dynamicSharedMemory": 1024, "localMemoryPerThread": 0, "localMemoryTotal": 0,
			"gridId": id}
	}
	add(kernelTable, kernel(1000, 1), kernel(3000, 2), kernel(5000, 3))
	call := func(start, id, name int) row {
		return row{"start": start, "end": start + 50, "eventClass": 0, "globalTid": tidA, "correlationId": id,
			"nameId": name, "returnValue": 0}
	}
	add(runtimeTable, call(500, 1, 4), call(2500, 2, 4), call(4500, 3, 4), call(5500, 4, 5))
	add(copyTable,
		row{"start": 6000, "end": 6100, "correlationId": 4, "globalPid": pidA, "bytes": 64, "copyKind": 2, "srcKind": 2,
			"dstKind": 0},
		// unified memory
		row{"start": 6200, "end": 6300, "correlationId": 0, "globalPid": pidA, "bytes": 4096, "copyKind": 11})
	ranged := func(start, end, kind, textID, text, domain any) row {
		return row{"start": start, "end": end, "eventType": kind, "globalTid": tidA, "textId": textID, "text": text,
			"domainId": domain, "jsonText": nil, "binaryData": nil}
	}
	add(rangeTable, ranged(100, 6500, 59, nil, "step 1", 0), // named in the row
		ranged(2400, 4600, 70, 6, nil, 2),     // of an importer, named in the table of strings, in a domain
		ranged(4400, nil, 60, nil, "open", 0), // still open at the end
		ranged(0, nil, 75, 7, nil, 2))         // the domain
	add("TARGET_INFO_CUDA_GPU", row{"name": "NVIDIA H200", "deviceId": 0, "pid": 4711})
	add("TARGET_INFO_GPU",
		row{"id": 0, "deviceId": 0, "name": "NVIDIA H200", "smCount": 132, "uuid": "GPU-x", "cuDevice": 0},
		row{"id": 1, "deviceId": 1, "name": "Microsoft Basic Render Driver", "smCount": 0,
			"uuid": "00000000-0000-0000-0000-000000000000", "cuDevice": 0})
	add("TARGET_INFO_CUDA_DEVICE", row{"gpuId": 0, "cudaId": 0, "pid": 4711})
	add("TARGET_INFO_SESSION_START_TIME", row{"utcEpochNs": 1776781226557295056})
	add(diagnosticTable, row{"timestamp": 1, "source": 3, "severity": 1,
		"text": "Number of CUDA events collected: \t9.", "globalPid": pidA})
	add("META_DATA_CAPTURE", row{"name": "COLLECT_CUDA_TRACE", "value": "true"})
	add(a.meta, row{"name": "EXPORT_PRODUCT_VERSION", "value": strings.TrimPrefix(a.tool, "nsys ") +
		".31-26113717666v0"},
		row{"name": "EXPORT_SCHEMA_VERSION", "value": a.schema}, row{"name": "EXPORT_SCHEMA_VERSION_MAJOR", "value": 3},
		row{"name": "EXPORT_TIME_UTC", "value": "2026-01-22T16:57:41"}, row{"name": "EXPORT_LAZY", "value": nil})
	return build(t, statements...)
}

// The exports of every age say the same.
func TestAges(t *testing.T) {
	want := model.Trace{
		Process: 4711,
		Kernels: []model.KernelInfo{{
			Subject: measure.Subject{Scope: measure.ScopeKernel, Name: "void k<float>(float*)",
				Grid: measure.Dim3{X: 4, Y: 1, Z: 1}, Block: measure.Dim3{X: 256, Y: 1, Z: 1}},
			Raw: "void k<float>(float*)", Registers: 32, StaticShared: 16, DynamicShared: 1024,
		}},
		Launches: []model.Launch{
			{Start: 1000, End: 1640, API: 500, Range: 0, Stream: 7},
			{Start: 3000, End: 3640, API: 2500, Range: 1, Stream: 7},
			{Start: 5000, End: 5640, API: 4500, Range: 2, Stream: 7},
		},
		Copies: []model.Copy{
			{Start: 6000, End: 6100, API: 5500, Bytes: 64, Range: 2, Kind: 2, Source: model.MemoryKind(2)},
			{Start: 6200, End: 6300, API: 6200, Bytes: 4096, Range: -1, Kind: 11, Thread: -1,
				Source: model.MemoryUnknown, Target: model.MemoryUnknown},
		},
		Ranges: []model.Range{
			{Start: 100, End: 6500, Name: 0, Parent: -1}, {Start: 2400, End: 4600, Name: 1, Parent: 0},
			{Start: 4400, End: 6300, Name: 2, Parent: -1}, // it outlasts the step
		},
		RangeNames: []string{"step #", "domain:layer", "open"}, MemoryPeak: -1,
		CallNames: []string{"cudaLaunchKernel", "cudaMemcpyAsync"},
		Calls: exporttest.Calls(model.Call{Start: 500, End: 550}, model.Call{Start: 2500, End: 2550},
			model.Call{Start: 4500, End: 4550}, model.Call{Start: 5500, End: 5550, Name: 1}),
	}
	for _, a := range ages {
		t.Run(a.name, func(t *testing.T) {
			traces, err := Read(t.Context(), a.write(t))
			if err != nil {
				t.Fatal(err)
			}
			if len(traces) != 1 {
				t.Fatalf("%d traces", len(traces))
			}
			got := traces[0]
			if a.reversed { // names are numbered in the order of the rows
				got = byName(got, want.RangeNames)
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(model.Trace{}, "Source", "Environment", "Warnings",
				"Zero"),
				cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("trace (-want +got):\n%s", diff)
			}
			e := model.Environment{Tool: a.tool, Schema: a.schema, GPU: "NVIDIA H200", GPUs: 1, Tick: 32}
			if strings.Contains(a.tables["TARGET_INFO_GPU"], "uuid") {
				e.GPUHash = model.HashUUID("GPU-x")
			}
			if a.tables["TARGET_INFO_SESSION_START_TIME"] != "" {
				e.Start = time.Unix(0, 1776781226557295056+1000).UTC()
			} else if a.meta != "" {
				e.Start = time.Date(2026, 1, 22, 16, 57, 41, 0, time.UTC)
			}
			if diff := cmp.Diff(e, got.Environment); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
			if all := strings.Join(got.Warnings, "\n"); (a.warning == "") != (all == "") ||
				!strings.HasPrefix(all, a.warning) {
				t.Errorf("warnings %q, want %q", got.Warnings, a.warning)
			}
		})
	}
}

// byName renumbers the range names of a trace to the order of names.
func byName(t model.Trace, names []string) model.Trace {
	t.Ranges = slices.Clone(t.Ranges)
	for i := range t.Ranges {
		t.Ranges[i].Name = int32(slices.Index(names, t.RangeNames[t.Ranges[i].Name]))
	}
	slices.Sort(t.RangeNames)
	if slices.Equal(t.RangeNames, slices.Sorted(slices.Values(names))) {
		t.RangeNames = names
	}
	return t
}

// A table that a later release writes under another name is not taken for an absent one.
func TestSuccessors(t *testing.T) {
	for _, c := range []struct {
		name, sql string
		key       model.Kind
	}{
		{"kernels", "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO CUPTI_ACTIVITY_KIND_KERNEL_V2", "new-schema"},
		{"calls", "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME RENAME TO CUPTI_ACTIVITY_KIND_RUNTIME_V3", "new-schema"},
		{"both, the old one empty", "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME_V10 (start)", "new-schema"},
		{"both", "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V2 (start)", ""},
		{"a table that nobody reads", "CREATE TABLE SCHED_EVENTS_V2 (start)", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := build(t, with(c.sql)...)
			if c.key != "" {
				refused(t, file, c.key, "instead of CUPTI_ACTIVITY_KIND_")
			} else if _, err := Read(t.Context(), file); err != nil {
				t.Error(err)
			}
		})
	}
	refused(t, build(t, with("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)",
		"INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2028.1.1')",
		"ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN start TO begin")...), "new-schema", "has no column start")
}
