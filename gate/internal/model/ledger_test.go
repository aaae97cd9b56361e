package model

import "testing"

// TestUnlike compares settings that both loads say; counts may vary a little.
func TestUnlike(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"", "", ""}, {"a=1", "", ""}, {"", "a=1", ""}, {"a=1", "b=2", ""}, {"a=1", "a=1", ""},
		{"a=1 b=2", "a=1 b=3", "b"},
		{"a=inf", "a=none", "a"}, {"clock none, cache all", "clock none, cache all", ""},
		{"clock none", "clock base", "mode"},
		{"", WithoutNVTX, "mode"}, {"a=1", WithoutNVTX, "mode"},
		{"completed=100", "completed=95", ""}, {"completed=100", "completed=50", "completed"},
		{"completed=100 duration=10", "completed=50 duration=10.2", ""},
		{"completed=100 duration=10", "completed=50 duration=5", "completed"},
		{"output_tokens_per_request=100", "output_tokens_per_request=98", ""},
		{"output_tokens_per_request=100", "output_tokens_per_request=50", "output_tokens_per_request"},
		{"vus_max=10→13", "vus_max=10→15", ""}, {"vus_max=10→13", "vus_max=10", ""},
		{"vus_max=20", "vus_max=3→20", ""},
		{"vus_max=10→13", "vus_max=13→15", "vus_max"}, {"vus_max=10", "vus_max=20", "vus_max"},
		{"duration=1", "duration=9", ""}, {"c=64/num_prompts=640", "c=64/num_prompts=64", "c=64/num_prompts"},
	} {
		if got, _, _ := Unlike(tt.a, tt.b); got != tt.want {
			t.Errorf("%q and %q: %q, want %q", tt.a, tt.b, got, tt.want)
		}
		if got, _, _ := Unlike(tt.b, tt.a); got != tt.want {
			t.Errorf("%q and %q: %q, want %q", tt.b, tt.a, got, tt.want)
		}
	}
	for _, tt := range []struct{ a, b, want string }{
		{"", "a=1", "a=1"}, {"a=1", "", "a=1"}, {"b=2", "a=1", "a=1 b=2"}, {"a=1", "a=2", "a=1"},
		{"clock none", "a=1", "clock none"},
	} {
		if got := JoinModes(tt.a, tt.b); got != tt.want {
			t.Errorf("%q with %q: %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
}
