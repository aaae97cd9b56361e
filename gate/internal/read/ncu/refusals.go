package ncu

// Next steps of the refusals of this package.
const (
	again = "write it again: ncu --import REPORT --csv --page raw --print-units base"
	fewer = "profile fewer launches (--launch-count), or fewer sections (--set basic)"
	withC = "run ncu with LC_ALL=C"
)
