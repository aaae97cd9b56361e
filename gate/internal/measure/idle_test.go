package measure

import "testing"

// A text of a baseline stays what it is; the CUDA call is the one that the host was in or came from.
func TestPlace(t *testing.T) {
	for text, want := range map[string]struct {
		Place
		call string
	}{
		"":                                     {},
		"host code":                            {Place{Call: HostCode}, ""},
		"host code in step":                    {Place{HostCode, "step", ""}, ""},
		"host code in cuda":                    {Place{HostCode, "cuda", ""}, ""},
		"cuLaunchKernelEx":                     {Place{Call: "cuLaunchKernelEx"}, "cuLaunchKernelEx"},
		"cudaMalloc in a in b":                 {Place{"cudaMalloc", "a in b", ""}, "cudaMalloc"},
		"a CUDA call in step":                  {Place{"a CUDA call", "step", ""}, ""},
		"elsewhere":                            {Elsewhere, ""},
		"host code in after lunch":             {Place{HostCode, "after lunch", ""}, ""},
		"host code after hipStreamSynchronize": {Place{HostCode, "", "hipStreamSynchronize"}, "hipStreamSynchronize"},
		"host code in step after cudaDeviceSynchronize": {Place{HostCode, "step", "cudaDeviceSynchronize"},
			"cudaDeviceSynchronize"},
		"cudaMalloc in the step after cudaFree": {Place{"cudaMalloc", "the step", "cudaFree"}, "cudaMalloc"},
	} {
		p := ParsePlace(text)
		if p != want.Place || p.String() != text || p.CUDA() != want.call {
			t.Errorf("%q: %#v in text %q, call %q; want %#v, call %q", text, p, p, p.CUDA(), want.Place, want.call)
		}
	}
	at := Place{HostCode, "step", "cudaFree"}
	if class, back := IdleSubject(IdleLaunch, at).Idle(); class != IdleLaunch || back != at {
		t.Errorf("%q, %#v come back", class, back)
	}
}

func FuzzPlace(f *testing.F) {
	for _, text := range []string{"host code in step after cudaFree", "cudaMalloc in ", " in  in ", "x after cuda",
		" after cuX"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := ParsePlace(text)
		if p.String() != text || ParsePlace(p.String()) != p {
			t.Errorf("%q: %#v in text %q", text, p, p)
		}
	})
}
