package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nsgate/nsgate/gate/internal/devicecode"
)

// DeviceCodeSchema names the JSON form of [DeviceCode].
const DeviceCodeSchema = "nsgate.code/1"

// DeviceCode lists the kernels in files with device code.
type DeviceCode struct {
	Schema string              `json:"schema"`
	Code   []devicecode.Kernel `json:"code"`
	// Unreadable says which files could not be read, and why.
	Unreadable []string `json:"unreadable,omitempty"`
}

// HoldsDeviceCode reports whether path is a file with device code, or a directory with cubins (Triton's cache).
func HoldsDeviceCode(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return err == nil && devicecode.HasCode(path)
	}
	found := errors.New("found")
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && filepath.Ext(name) == ".cubin" {
			return found
		}
		return err
	})
	return err == found
}

// ReadDeviceCode reads the device code that patterns name, relative to dir, as [devicecode.Find] does.
func ReadDeviceCode(dir string, patterns ...string) (*DeviceCode, error) {
	out := &DeviceCode{Schema: DeviceCodeSchema, Code: []devicecode.Kernel{}}
	for _, pattern := range patterns {
		path := pattern
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		files, err := devicecode.Find(path)
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			out.Unreadable = append(out.Unreadable, pattern+": there is no such file")
		}
		for _, file := range files {
			name, err := filepath.Rel(dir, file)
			if err != nil || !filepath.IsLocal(name) {
				name = filepath.Base(file)
			}
			kernels, err := devicecode.Read(file, name)
			if err != nil {
				out.Unreadable = append(out.Unreadable, err.Error())
			}
			out.Code = append(out.Code, kernels...)
		}
	}
	return out, nil
}
