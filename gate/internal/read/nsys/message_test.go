package nsys

import (
	"testing"

	"github.com/nsgate/nsgate/gate/internal/model"
)

func TestMessage(t *testing.T) {
	for payload, want := range map[string]model.Message{
		`{"Communicator ID": 17, "Message size [bytes]": 33554432, "Reduction operation": "Sum"}`: {Communicator: 17,
			Bytes: 33554432},
		// nsys 2025.3.2, NCCL of PyTorch 2.11.
		`{"NCCL communicator ID":3074483151914116025,"Message size [bytes]":134250496,"Reduction operation":"Sum"}`: {Communicator: 3074483151914116025, Bytes: 134250496},
		`{"NCCL communicator ID":3074483151914116025,"No. of ranks":2,"Rank":1,"CUDA device":1}`:                    {Communicator: 3074483151914116025},
		`{"Communicator ID": "0x1f", "Message size [bytes]": "64"}`:                                                 {Communicator: 31, Bytes: 64},
		`{"Message size [bytes]": 64}`:                     {Bytes: 64},
		`{"Message size [bytes]": -64}`:                    {},
		`{"Message size [bytes]": 18446744073709551615}`:   {},
		`{"Message size [bytes]": {"of": [64]}}`:           {},
		`{"Message size [bytes]": 1e3}`:                    {},
		`Message size [bytes]`:                             {},
		`{"Communicator ID": null, "Message size [bytes]"`: {},
		"": {},
	} {
		if got := message(payload); got != want {
			t.Errorf("%s: %+v, want %+v", payload, got, want)
		}
	}
}

// A range's payload goes to the launches in it, wherever the range stands after sorting.
func TestMessages(t *testing.T) {
	traces, err := Read(t.Context(), build(t, stringTable, kernelColumns, runtimeColumns, rangeColumns, gpuTable,
		gpuRow,
		`INSERT INTO StringIds VALUES (1, 'ncclAllReduce'), (2, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'), (3, 'cudaLaunchKernel_v7000'), (4, 'step')`,
		`INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (2000, 3000, 0, 1, 0, 7, 1, 281479271677952, 2, 2, NULL, 1, 1, 32, 1, 1, 1, 256, 1, 1, 0, 0, 0, 0, 1, 0, NULL, 0)`,
		`INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1100, 0, 281479271677953, 1, 3, 0, NULL)`,
		`INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, textId, domainId, jsonText) VALUES
			(900, 1200, 59, 281479271677953, 1, 0, '{"Communicator ID": 5, "Message size [bytes]": 4096}'), (100, 9000, 59, 281479271677953, 4, 0, NULL)`))
	if err != nil {
		t.Fatal(err)
	}
	tr := traces[0]
	if got := tr.Messages[tr.Launches[0].Range]; got != (model.Message{Communicator: 5, Bytes: 4096}) ||
		len(tr.Messages) != 1 {
		t.Errorf("messages %v of ranges %v, launch in %d", tr.Messages, tr.Ranges, tr.Launches[0].Range)
	}
}

// Every collective of a recording has the message that NCCL told of it, in the process of its rank.
func TestMessagesOfNCCL(t *testing.T) {
	traces, err := Read(t.Context(), "../../../../testdata/h200/nccl.sqlite")
	if err != nil {
		t.Fatal(err)
	}
	if len(traces) != 2 {
		t.Fatalf("%d ranks", len(traces))
	}
	for _, tr := range traces {
		bytes := map[int64]int{}
		for _, l := range tr.Launches {
			m := tr.Messages[l.Range]
			if m.Communicator != 3074483151914116025 {
				t.Errorf("%+v is in communicator %d", tr.Kernels[l.Kernel], m.Communicator)
			}
			bytes[m.Bytes]++
		}
		if bytes[134250496] != 2 || bytes[67125248] != 2 || bytes[67108864] != 2 || bytes[0] != 0 {
			t.Errorf("messages by size: %v", bytes)
		}
	}
}

// FuzzMessage wants no panic, and no message from other payloads.
func FuzzMessage(f *testing.F) {
	f.Add(`{"Communicator ID": 17, "Message size [bytes]": 33554432}`)
	f.Add(`{"Communicator ID": "0x1f", "Message size [bytes]": "-1"}`)
	f.Fuzz(func(t *testing.T, payload string) {
		if m := message(payload); m.Bytes < 0 {
			t.Errorf("%q has %d bytes", payload, m.Bytes)
		}
	})
}
