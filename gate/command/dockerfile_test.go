package command_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDockerfile reads the image's file and the recipes of the manual, and finds the one fault of each bad recipe.
func TestDockerfile(t *testing.T) {
	image, err := os.ReadFile("../../.github/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	recipes := []block{{0, string(image)}}
	for _, p := range pages(t) {
		recipes = append(recipes, p.blocks("dockerfile")...)
	}
	for _, b := range recipes {
		if faults := dockerfileFaults(b.text); len(faults) > 0 || len(recipes) < 2 {
			t.Errorf("%q in\n%s", faults, b.text)
		}
	}
	for _, bad := range [][2]string{
		{"FROM docker.io/library/golang:1.26-bookworm", "FROM golang"}, {"golang:1.26-bookworm", "golang:latest"},
		{"FROM scratch", "FORM scratch"}, {"COPY . .", "ADD https://example.org/x /x"},
		{"--from=build", "--from=built"},
		{"go mod download", "curl https://example.org/x | sh"},
		{"go mod download", "apt-get install -y git --allow-unauthenticated"},
		{"USER 65534:65534\n", ""}, {`ENTRYPOINT ["/nsgate"]`, `ENTRYPOINT ["/nsgote"]`}, {"WORKDIR /src", "WORKDIR"},
	} {
		text := strings.Replace(string(image), bad[0], bad[1], 1)
		if faults := dockerfileFaults(text); text == string(image) || len(faults) != 1 {
			t.Errorf("%q in place of %q: %q", bad[1], bad[0], faults)
		}
	}
}

var (
	instruction = regexp.MustCompile(`^\s*((ADD|ARG|CMD|COPY|ENTRYPOINT|ENV|FROM|LABEL|RUN|USER|WORKDIR) +\S.*)?\n$`)
	pinnedImage = regexp.MustCompile(`:[\w.-]*\d[\w.-]*$|@sha256:[0-9a-f]{64}$`)
	unverified  = regexp.MustCompile(`^ADD (.*--checksum=sha256:)?.*://|^RUN .*(\b(curl|wget)\b|http://|trusted=yes|--allow-un)`)
	startsBuilt = regexp.MustCompile(`(?s)-o /out/nsgate .*\nUSER \d+:\d+\nENTRYPOINT \["/nsgate"\]\n`)
)

// dockerfileFaults returns the lines that no builder takes, that name an image without a fixed tag, or that take a file
// without checksum or signature. An image from scratch starts the binary that was built, as a user other than root.
func dockerfileFaults(text string) (faults []string) {
	lines := strings.ReplaceAll(regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(text, ""), "\\\n", " ")
	for line := range strings.Lines(lines) {
		image := regexp.MustCompile(`^(?:FROM |COPY --from=)(\S+)`).FindStringSubmatch(line)
		known := image == nil || image[1] == "scratch" || pinnedImage.MatchString(image[1]) ||
			strings.Contains(lines, " AS "+image[1]+"\n")
		if u := unverified.FindStringSubmatch(line); !instruction.MatchString(line) || !known || u != nil &&
			u[1] == "" {
			faults = append(faults, line)
		}
	}
	if strings.Contains(text, "\nFROM scratch\n") && !startsBuilt.MatchString(text) {
		faults = append(faults, "USER and ENTRYPOINT of the image")
	}
	return faults
}
