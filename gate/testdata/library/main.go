// Command library compares two directories of profiles and prints what changed.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/nsgate/nsgate/gate"
	"github.com/nsgate/nsgate/thresholds"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: library BASELINE HEAD")
	}
	ctx := context.Background()
	baseline, err := gate.ReadProfile(ctx, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	head, err := gate.ReadProfile(ctx, os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	decision, err := gate.Compare(ctx, thresholds.Default(), baseline, head)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %s\n", decision.Verdict, decision.Reason)
	for _, f := range decision.Findings {
		if f.Outcome != gate.WithinLimit && f.Outcome != gate.BelowFloor {
			fmt.Printf("%s (%s)\n", f, f.Reason)
		}
	}
	if decision.Verdict != gate.Pass {
		os.Exit(1)
	}
}
