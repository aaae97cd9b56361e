package model

import "testing"

func TestIsBoard(t *testing.T) {
	for s, want := range map[string]bool{
		"692-2G520-0282-001": true, "965-2G520-0041-000": true, "695-2G520-0200-000 + 900-2G193-0000-001": true,
		"": false, "N/A": false, "1654523003308": false, "GPU-c5533cd4-5a60-059e-348d-b6d7466932e4": false,
		"0x100":                              false,
		"692-2G520-0282-001 + 1654523003308": false, "692-2G520-0282-001, node17": false, "692-2g520-0282-001": false,
	} {
		if IsBoard(s) != want {
			t.Errorf("IsBoard(%q) is %v", s, !want)
		}
	}
}
