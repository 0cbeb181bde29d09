/* As much of the CUDA runtime as calls.c uses, over nothing. */
#pragma once
#include <stddef.h>
typedef int cudaError_t;
typedef struct stub_stream *cudaStream_t;
enum { cudaSuccess = 0, cudaStreamNonBlocking = 1 };
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaMemset(void *memory, int value, size_t bytes);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
const char *cudaGetErrorString(cudaError_t code);
