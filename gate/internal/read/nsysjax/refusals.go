package nsysjax

// Next steps of the refusals of this package.
const (
	copyAgain   = "copy the archive again, or record the workload again"
	unpackIt    = "unpack it and give the reports (.nsys-rep)"
	keepReports = "give the archives that nsys-jax wrote, or combine them with `nsys-jax-combine --keep-nsys-rep=all`"
)
