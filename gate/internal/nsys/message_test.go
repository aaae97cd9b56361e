package nsys

import (
	"testing"

	"github.com/nsgate/nsgate/gate/measure"
)

func TestMessage(t *testing.T) {
	for payload, want := range map[string]measure.Message{
		`{"Communicator ID": 17, "Message size [bytes]": 33554432, "Reduction operation": "Sum"}`: {Communicator: 17, Bytes: 33554432},
		`{"Communicator ID": "0x1f", "Message size [bytes]": "64"}`:                               {Communicator: 31, Bytes: 64},
		`{"Message size [bytes]": 64}`:                                                            {Bytes: 64},
		`{"Message size [bytes]": -64}`:                                                           {},
		`{"Message size [bytes]": 18446744073709551615}`:                                          {},
		`{"Message size [bytes]": {"of": [64]}}`:                                                  {},
		`{"Message size [bytes]": 1e3}`:                                                           {},
		`Message size [bytes]`:                                                                    {},
		`{"Communicator ID": null, "Message size [bytes]"`:                                        {},
		"": {},
	} {
		if got := message(payload); got != want {
			t.Errorf("%s: %+v, want %+v", payload, got, want)
		}
	}
}

// A range's payload goes to the launches in it, wherever the range stands after sorting.
func TestMessages(t *testing.T) {
	traces, err := Read(t.Context(), build(t, stringTable, kernelColumns, runtimeColumns, rangeColumns, gpuTable, gpuRow,
		`INSERT INTO StringIds VALUES (1, 'ncclAllReduce'), (2, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'), (3, 'cudaLaunchKernel_v7000'), (4, 'step')`,
		`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 3000, 0, 1, 0, 7, 1, 281479271677952, 2, 2, NULL, 1, 1, 32, 1, 1, 1, 256, 1, 1, 0, 0, 0, 0, 1, 0, NULL, 0)`,
		`INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1100, 0, 281479271677953, 1, 3, 0, NULL)`,
		`INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, textId, domainId, jsonText) VALUES
			(900, 1200, 59, 281479271677953, 1, 0, '{"Communicator ID": 5, "Message size [bytes]": 4096}'), (100, 9000, 59, 281479271677953, 4, 0, NULL)`))
	if err != nil {
		t.Fatal(err)
	}
	tr := traces[0]
	if got := tr.Messages[tr.Launches[0].Range]; got != (measure.Message{Communicator: 5, Bytes: 4096}) || len(tr.Messages) != 1 {
		t.Errorf("messages %v of ranges %v, launch in %d", tr.Messages, tr.Ranges, tr.Launches[0].Range)
	}
}

// FuzzMessage wants no panic, and no message of what is none.
func FuzzMessage(f *testing.F) {
	f.Add(`{"Communicator ID": 17, "Message size [bytes]": 33554432}`)
	f.Add(`{"Communicator ID": "0x1f", "Message size [bytes]": "-1"}`)
	f.Fuzz(func(t *testing.T, payload string) {
		if m := message(payload); m.Bytes < 0 {
			t.Errorf("%q has %d bytes", payload, m.Bytes)
		}
	})
}
