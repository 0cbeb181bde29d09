/* As much of NCCL as calls.c uses, over nothing. */
#pragma once
#include "cuda_runtime.h"
typedef int ncclResult_t;
typedef struct stub_communicator *ncclComm_t;
typedef struct { char internal[128]; } ncclUniqueId;
enum { ncclSuccess = 0, ncclSum = 0, ncclFloat = 7 };
ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRank(ncclComm_t *communicator, int ranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommDestroy(ncclComm_t communicator);
ncclResult_t ncclAllReduce(
    const void *from, void *to, size_t count, int type, int op, ncclComm_t communicator, cudaStream_t stream);
const char *ncclGetErrorString(ncclResult_t code);
