package collect

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nsgate/nsgate/gate/measure"
)

// The importer of nsys (2025.3) fails on strings that the profiler library of JAX and TensorFlow hands to NVTX, and loses
// most events, kernels too. Without the domain of that library it keeps them all.
const (
	domainArg  = "--nvtx-domain-"
	excludeTSL = domainArg + "exclude=TSL"
)

// losesStrings reports whether a session failed for strings of NVTX that can be left out. Whoever chooses the domains
// has decided already.
func (p Plan) losesStrings(err error) bool {
	return measure.RefusalKey(err) == "importer-string" &&
		!slices.ContainsFunc(p.TraceArgs, func(arg string) bool { return strings.HasPrefix(arg, domainArg) })
}

// repeat measures without the NVTX domain TSL, after lost.
func (p Plan) repeat(ctx context.Context, lost error, note func(Event)) (*Result, error) {
	p.TraceArgs = append(slices.Clone(p.TraceArgs), excludeTSL)
	res, err := p.collect(ctx, note)
	var first, second *measure.Refusal
	errors.As(lost, &first)
	switch unknown := (*optionError)(nil); {
	case errors.As(err, &unknown) && strings.HasPrefix(unknown.name, domainArg):
		return nil, measure.Refuse(first.Reason, "update nsys: this one does not know the option "+unknown.name+
			", by which the ranges of JAX are left out")
	case measure.RefusalKey(err) == "importer-string" && errors.As(err, &second):
		return nil, measure.Refuse(second.Reason+", also without the NVTX domain TSL",
			"leave out the domain that the strings come from with --nsys-arg="+domainArg+"exclude=DOMAIN, or measure without "+
				"NVTX ranges: --nsys-arg=--trace=cuda")
	case err != nil:
		return nil, err
	}
	res.Repeated = "the importer of nsys lost events of JAX's NVTX ranges; measured again without the domain TSL; give --nsys-arg=" +
		excludeTSL + " to save the first attempt"
	return res, nil
}
