package nsys

import "fmt"

// checkLaunches is the next step where CUDA refused launches.
const checkLaunches = "have the program check cudaGetLastError() after its launches, mend what it reports, and " +
	"record again"

// failures counts launches that CUDA refused: their call returned an error, and no kernel ran.
type failures struct {
	launches int
	first    int64 // the error of the first one
}

func (f *failures) count(result int64) {
	if f.launches++; f.launches == 1 {
		f.first = result
	}
}

// launchErrors are the names of the errors that launches return, from enum cudaError of CUDA's driver_types.h.
var launchErrors = map[int64]string{
	1: "cudaErrorInvalidValue", 2: "cudaErrorMemoryAllocation", 9: "cudaErrorInvalidConfiguration",
	98: "cudaErrorInvalidDeviceFunction", 209: "cudaErrorNoKernelImageForDevice", 400: "cudaErrorInvalidResourceHandle",
	700: "cudaErrorIllegalAddress", 701: "cudaErrorLaunchOutOfResources", 719: "cudaErrorLaunchFailure",
	720: "cudaErrorCooperativeLaunchTooLarge",
}

// of says how many of all launches failed: "3 of 10 kernel launches failed, the first with CUDA error 701".
func (f failures) of(all int) string {
	text := fmt.Sprintf("%d of %d kernel launches failed, the first with CUDA error %d", f.launches, all, f.first)
	if name := launchErrors[f.first]; name != "" {
		text += " (" + name + ")"
	}
	return text
}
