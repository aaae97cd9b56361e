package devicecode

import "testing"

// TestOccupancy holds the occupancy that ncu gives for kernels of testdata/ncu (the first six), and limits by each
// resource.
func TestOccupancy(t *testing.T) {
	for _, tt := range []struct {
		arch              string
		registers, shared int
		threads, dynamic  int
		want              float64
	}{
		{"sm_90", 16, 0, 256, 0, 100},
		{"sm_90", 16, 1024 + 1024, 256, 0, 100},
		{"sm_90", 32, 4224 + 1024, 256, 0, 100},
		{"sm_90", 32, 8192 + 1024, 1024, 0, 100},
		{"sm_90", 31, 1024 + 1024, 256, 0, 100},
		{"sm_90", 16, 0, 32, 0, 50}, // 32 blocks
		{"sm_90a", 80, 0, 256, 0, 37.5},
		{"sm_90", 255, 0, 128, 0, 12.5},
		{"sm_90", 33, 0, 1024, 0, 50},
		{"sm_90", 32, 0, 256, 113 << 10, 25},
		{"sm_80", 32, 40 << 10, 256, 0, 50},
		{"sm_86", 16, 0, 1024, 0, 2048. / 30.72},
		{"sm_75", 128, 0, 128, 0, 50},
		{"sm_90", 16, 0, 2048, 0, -1},
		{"sm_90", 128, 0, 1024, 0, -1},
		{"sm_99", 16, 0, 256, 0, -1},
		{"", 16, 0, 256, 0, -1},
		{"sm_90", 16, 0, 0, 0, -1},
	} {
		got, ok := Kernel{Arch: tt.arch, Registers: tt.registers, Shared: tt.shared}.Occupancy(tt.threads, tt.dynamic)
		if !ok {
			got = -1
		}
		if got != tt.want && !(got > tt.want-1e-9 && got < tt.want+1e-9) {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
