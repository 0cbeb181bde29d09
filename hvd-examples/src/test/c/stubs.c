/* STUB_GPUS devices; ranks say how they join. With STUB_FAILS=N rank N fails at that, and the others wait for ever. */
#include "nccl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int device = -1;

static int number(const char *name, int otherwise) { return getenv(name) ? atoi(getenv(name)) : otherwise; }

cudaError_t cudaGetDeviceCount(int *count) { return (*count = number("STUB_GPUS", 1)) == 0; }
cudaError_t cudaSetDevice(int which) { return (device = which) < 0; }
cudaError_t cudaMalloc(void **memory, size_t bytes) { return (*memory = &device) == NULL || bytes == 0; }
cudaError_t cudaMemset(void *memory, int value, size_t bytes) { return memory != &device || value != 0 || bytes == 0; }
cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) { return (*stream = NULL) != NULL || flags != 1; }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return stream != NULL; }
const char *cudaGetErrorString(cudaError_t code) { return code ? "stub of CUDA" : "none"; }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) { return strcpy(id->internal, "made by rank 0") == NULL; }

ncclResult_t ncclCommInitRank(ncclComm_t *communicator, int ranks, ncclUniqueId id, int rank) {
    const char *host = getenv("NCCL_HOSTID");
    int failing = number("STUB_FAILS", -1);
    fprintf(stderr, "rank %d of %d, device %d, host %s, id %s\n", rank, ranks, device, host ? host : "-", id.internal);
    while (failing >= 0 && failing != rank) pause();
    *communicator = NULL;
    return failing == rank;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) { return communicator != NULL; }
ncclResult_t ncclAllReduce(
    const void *from, void *to, size_t count, int type, int op, ncclComm_t communicator, cudaStream_t stream) {
    return from != to || count == 0 || type != ncclFloat || op != ncclSum || communicator != NULL || stream != NULL;
}
const char *ncclGetErrorString(ncclResult_t code) { return code ? "stub of NCCL" : "none"; }
