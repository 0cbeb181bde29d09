/*
 * The time of one blocking ncclAllReduce in place, 4 B to 256 MiB, without Java: what "gpu-check --only G7" measures
 * through hvd. Prints medians as "bytes:microseconds 4:11.2 16:11.3 ...".
 *
 *   calls RANKS
 *
 * Ranks are processes of its own; they need no MPI. More ranks than GPUs share them, each with an NCCL_HOSTID of its own.
 */
#define _GNU_SOURCE
#include <cuda_runtime.h>
#include <nccl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RANKS = 64, MOST_CALLS = 200, WARM_UP = 16 };

static const size_t LARGEST_BYTES = (size_t)1 << 28;

static void fail(const char *call, const char *why) {
    fprintf(stderr, "calls: %s failed: %s\n", call, why);
    exit(1);
}

static void cuda(const char *call, cudaError_t code) {
    if (code != cudaSuccess) fail(call, cudaGetErrorString(code));
}

static void nccl(const char *call, ncclResult_t code) {
    if (code != ncclSuccess) fail(call, ncclGetErrorString(code));
}

static double micros(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The same on every rank; large ones take long enough to be few. */
static int calls_of(size_t bytes) {
    return bytes <= (1u << 20) ? MOST_CALLS : bytes <= (1u << 24) ? 40 : 9;
}

static double median(void *memory, size_t bytes, ncclComm_t communicator, cudaStream_t stream) {
    double times[MOST_CALLS];
    int calls = calls_of(bytes);
    for (int i = -WARM_UP; i < calls; i++) {
        double begun = micros();
        nccl("ncclAllReduce", ncclAllReduce(memory, memory, bytes / 4, ncclFloat, ncclSum, communicator, stream));
        cuda("cudaStreamSynchronize", cudaStreamSynchronize(stream));
        if (i >= 0) times[i] = micros() - begun;
    }
    qsort(times, calls, sizeof times[0], ascending);
    return times[calls / 2];
}

static void choose_gpu(int rank, int ranks) {
    int gpus;
    char name[16];
    cuda("cudaGetDeviceCount", cudaGetDeviceCount(&gpus));
    cuda("cudaSetDevice", cudaSetDevice(rank % gpus));
    if (ranks > gpus) {
        snprintf(name, sizeof name, "rank%d", rank);
        setenv("NCCL_HOSTID", name, 1);
    }
}

/* Rank 0 makes the id and writes it into the pipe of each other rank. */
static ncclUniqueId agree(int rank, int ranks, int pipes[][2]) {
    ncclUniqueId id;
    if (rank > 0) {
        if (read(pipes[rank][0], &id, sizeof id) != sizeof id) fail("reading the id", "rank 0 has ended");
        return id;
    }
    nccl("ncclGetUniqueId", ncclGetUniqueId(&id));
    for (int other = 1; other < ranks; other++) {
        if (write(pipes[other][1], &id, sizeof id) != sizeof id) fail("writing the id", "a rank has ended");
    }
    return id;
}

static void run(int rank, int ranks, int pipes[][2]) {
    ncclComm_t communicator;
    cudaStream_t stream;
    void *memory;
    choose_gpu(rank, ranks);
    nccl("ncclCommInitRank", ncclCommInitRank(&communicator, ranks, agree(rank, ranks, pipes), rank));
    cuda("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cuda("cudaMalloc", cudaMalloc(&memory, LARGEST_BYTES));
    cuda("cudaMemset", cudaMemset(memory, 0, LARGEST_BYTES));
    cuda("cudaDeviceSynchronize", cudaDeviceSynchronize());
    if (rank == 0) printf("bytes:microseconds");
    for (size_t bytes = 4; bytes <= LARGEST_BYTES; bytes *= 4) {
        double time = median(memory, bytes, communicator, stream);
        if (rank == 0) printf(" %zu:%.1f", bytes, time);
    }
    if (rank == 0) printf("\n");
    nccl("ncclCommDestroy", ncclCommDestroy(communicator));
}

/* The first rank that fails ends the others, which would wait for it inside NCCL. */
static int wait_for_all(int ranks, const pid_t *children) {
    for (int ended = 0; ended < ranks; ended++) {
        int status;
        wait(&status);
        if (status != 0) {
            for (int rank = 0; rank < ranks; rank++) kill(children[rank], SIGKILL);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    int ranks = argc == 2 ? atoi(argv[1]) : 0;
    int pipes[MOST_RANKS][2];
    pid_t children[MOST_RANKS];
    if (ranks < 1 || ranks > MOST_RANKS) fail("calls RANKS", "RANKS is from 1 to 64");
    signal(SIGPIPE, SIG_IGN);
    for (int rank = 0; rank < ranks; rank++) {
        if (pipe(pipes[rank]) != 0) fail("pipe", "no more descriptors");
    }
    /* CUDA does not outlive a fork, so nothing of it is called before. */
    for (int rank = 0; rank < ranks; rank++) {
        children[rank] = fork();
        if (children[rank] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            run(rank, ranks, pipes);
            return 0;
        }
    }
    return wait_for_all(ranks, children);
}
