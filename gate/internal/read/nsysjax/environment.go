package nsysjax

import (
	"strconv"

	"github.com/nsgate/nsgate/gate/internal/measure"
	"github.com/nsgate/nsgate/gate/internal/model"
)

// environment reads the tables on devices, threads and the system, as far as they are there, and gives the device of
// each thread. XLA starts a thread for each GPU; with one GPU the main thread launches. Other rows name host, user and
// environment.
func (r *reader) environment() (e model.Environment, devices func(thread) int32, err error) {
	e.Tool = string(model.Thunks)
	c, err := r.load("device-metadata.parquet", 0, "('TARGET_INFO_GPU', 'name')", "('TARGET_INFO_GPU', 'uuid')")
	var models, ids []string
	for row := range r.rows {
		models, ids = append(models, measure.NormalizeLine(c[0].text(row))), append(ids, c[1].text(row))
	}
	e.GPU, e.GPUHash = model.Models(models), model.HashUUID(ids...)
	if err == nil {
		c, err = r.load("system-metadata.parquet", 0, "name", "value")
	}
	for row := range r.rows {
		name, value := c[0].text(row), c[1].text(row)
		switch {
		case name == "NvDriverVersion" && version().MatchString(value):
			e.Driver = value
		case name == "CudaDriverVersion":
			e.CUDA = model.CUDAVersion(value)
		}
	}
	if err == nil {
		c, err = r.load("thread-metadata.parquet", 3, "Name", "PID", "TID")
	}
	if err != nil {
		return e, nil, err
	}
	by, first := map[thread]int32{}, int32(-1)
	for row := range r.rows {
		m := launcher().FindStringSubmatch(c[0].text(row))
		if m == nil || !c[1].has(row) || !c[2].has(row) {
			continue
		}
		local, _ := strconv.Atoi(m[1])
		if by[thread{c[1].number(row, 0), c[2].number(row, 0)}] = int32(local); first < 0 {
			first = int32(local)
			r.rank, _ = strconv.Atoi(m[2])
		}
	}
	if first < 0 && len(models) > 1 {
		err = model.Refuse(model.BadTable, keepReports,
			"%s does not say which of %d GPUs a thunk ran on: thread-metadata.parquet has no thread XlaLauncher",
			r.name, len(models))
	}
	return e, func(t thread) int32 {
		if d, ok := by[t]; ok {
			return d
		}
		return max(first, 0)
	}, err
}
