// A program worth measuring: a fixed number of equal steps, each in an NVTX range, and nothing random.
#include <cstdio>
#include <cstdlib>
#include <nvtx3/nvToolsExt.h>

#define OK(call)                                                                  \
  if (cudaError_t e = (call); e != cudaSuccess) {                                 \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e));    \
    exit(1);                                                                      \
  }

__global__ void saxpy(int n, float a, const float *x, float *y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += a * x[i];
}

__global__ void softmax(int columns, float *rows) {
  float *row = rows + (size_t)blockIdx.x * columns, sum = 0;
  for (int i = 0; i < columns; i++) sum += __expf(row[i]);
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x) row[i] = __expf(row[i]) / sum;
}

int main(int argc, char **argv) {
  const int steps = argc > 1 ? atoi(argv[1]) : 60, n = 1 << 24, columns = 1 << 10;
  float *x, *y;
  OK(cudaMalloc(&x, n * sizeof *x));
  OK(cudaMalloc(&y, n * sizeof *y));
  OK(cudaMemset(x, 0, n * sizeof *x));
  OK(cudaMemset(y, 0, n * sizeof *y));
  for (int i = 0; i < steps; i++) {
    nvtxRangePush("step");
    saxpy<<<1024, 256>>>(n, 2, x, y);
    softmax<<<n / columns, 256>>>(columns, y);
    nvtxRangePop();
  }
  OK(cudaDeviceSynchronize());
  printf("%d steps\n", steps);
}
