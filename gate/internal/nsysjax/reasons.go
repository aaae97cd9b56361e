package nsysjax

import "github.com/nsgate/nsgate/gate/internal/model"

const (
	copyAgain   = "copy the archive again, or record the workload again"
	unpackIt    = "unpack it and give the reports (.nsys-rep)"
	keepReports = "give the archives that nsys-jax wrote, or combine them with `nsys-jax-combine --keep-nsys-rep=all`"
)

// Reasons are all causes for which this package refuses. It makes no refusal that is not in this list.
var Reasons = model.Reasons{
	// The archive is none, or not whole.
	{Key: "no-file", Sentence: "{file} is no file", Next: "give an archive that nsys-jax wrote"},
	{Key: "empty", Sentence: "{file} is an empty file, as nsys-jax leaves it where the program failed or its condition did not hold",
		Next: "see what nsys-jax said, and record the workload again"},
	{Key: "no-list", Sentence: "{file} is no whole archive: the list of files at its end is missing or damaged",
		Next: "let nsys-jax finish, " + copyAgain},

	// It does not hold the reports of what was recorded.
	{Key: "no-report", Sentence: "{file} holds no report of nsys ({files} files)",
		Next: "give an archive that nsys-jax wrote, or a report (.nsys-rep)"},
	{Key: "no-import", Sentence: "{report} in {file} was never made a report: nsys could not import it",
		Next: "import it with the nsys that wrote it, or record the workload again"},
	{Key: "tables-only", Sentence: "{file} holds tables (.parquet) but no report of nsys",
		Next: keepReports + ": nsys-jax puts the report (.nsys-rep) beside its tables, which hold NVTX ranges and no kernel"},
	{Key: "archives-only", Sentence: "{file} holds {archives} and no report of nsys; archives within it are not opened",
		Next: "unpack it and give those"},
	{Key: "reports-missing", Sentence: "{file} combines more recordings than it holds reports of: none of {recordings}",
		Next: keepReports},
	{Key: "listed-twice", Sentence: "{file} lists {report} twice", Next: "give the reports (.nsys-rep) themselves"},
	{Key: "same-recording", Sentence: "{report} and {other} in {file} are the same recording",
		Next: "give each recording once: two runs are two recordings"},

	// A report in it cannot be unpacked.
	{Key: "many-reports", Sentence: "{file} holds {reports} reports, more than {most}", Next: unpackIt},
	{Key: "large", Sentence: "the reports in {file} are larger than {most} GB", Next: unpackIt},
	{Key: "encrypted", Sentence: "{report} in {file} is encrypted", Next: unpackIt},
	{Key: "empty-report", Sentence: "{report} in {file} is empty", Next: "record the workload again"},
	{Key: "unknown-compression", Sentence: "{report} in {file} is compressed by method {method}, which is not known", Next: unpackIt},
	{Key: "damaged", Sentence: "{report} in {file} is damaged: {what}", Next: copyAgain},
}
