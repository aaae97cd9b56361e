package measure

import "testing"

func TestOutputMetric(t *testing.T) {
	if m := (Output{Better: Higher}).Metric(); m != Rate || !m.Judged() || !m.Unprofiled() {
		t.Errorf("more is better: %+v", m)
	}
	if m := (Output{Better: Lower}).Metric(); m != Cost || !m.Judged() || !m.Unprofiled() {
		t.Errorf("less is better: %+v", m)
	}
	if WallTime.Judged() || !WallTime.Unprofiled() || GPUTime.Unprofiled() {
		t.Error("the wall time is of untraced runs and not judged by itself")
	}
}
