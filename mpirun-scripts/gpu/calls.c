/*
 * The time of one blocking ncclAllReduce in place, 8 B to LAST_BYTES (128 MiB), without Java: what "gpu-check --only G7"
 * measures through hvd, with as many calls. Prints means as "bytes:microseconds 8:11.2 16:11.3 ...".
 *
 *   calls RANKS [LAST_BYTES [host-ids]]
 *
 * Ranks are processes of its own; they need no MPI. More ranks than GPUs share them: with
 * NCCL_MULTI_RANK_GPU_ENABLE in the environment as ranks of one host, otherwise, or with host-ids, each with an
 * NCCL_HOSTID of its own.
 *
 * The libraries are opened when it runs, so that a bundle can bring it compiled from a machine without CUDA and NCCL.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RANKS = 64, WARM_UPS = 5, CALLS = 20 };

static const size_t FIRST_BYTES = 8, MOST_BYTES = (size_t)1 << 30;
static size_t last_bytes = (size_t)1 << 27;
static int host_ids = 0;

/* As in cuda_runtime.h and nccl.h, whose C interface keeps these. */
enum { SUCCESS = 0, STREAM_NON_BLOCKING = 1, FLOAT = 7, SUM = 0 };
typedef void *Stream;
typedef void *Communicator;
typedef struct {
    char internal[128];
} UniqueId;

static struct {
    int (*getDeviceCount)(int *);
    int (*setDevice)(int);
    int (*allocate)(void **, size_t);
    int (*set)(void *, int, size_t);
    int (*synchronize)(void);
    int (*createStream)(Stream *, unsigned);
    int (*awaitStream)(Stream);
    const char *(*errorString)(int);
} cuda;

static struct {
    int (*getUniqueId)(UniqueId *);
    int (*join)(Communicator *, int, UniqueId, int);
    int (*allReduce)(const void *, void *, size_t, int, int, Communicator, Stream);
    int (*leave)(Communicator);
    const char *(*errorString)(int);
} nccl;

static void fail(const char *call, const char *why) {
    fprintf(stderr, "calls: %s failed: %s\n", call, why);
    exit(1);
}

static void check_cuda(const char *call, int code) {
    if (code != SUCCESS) fail(call, cuda.errorString(code));
}

static void check_nccl(const char *call, int code) {
    if (code != SUCCESS) fail(call, nccl.errorString(code));
}

static void *opened(const char *library) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) fail("dlopen", dlerror());
    return handle;
}

/* ISO C has no conversion of a pointer to data into one to a function; POSIX has this one. */
static void find(void *library, const char *name, void *function) {
    void *address = dlsym(library, name);
    if (address == NULL) fail("dlsym", dlerror());
    *(void **)function = address;
}

static void open_libraries(void) {
    void *cudart = opened("libcudart.so.13"), *libnccl = opened("libnccl.so.2");
    find(cudart, "cudaGetDeviceCount", &cuda.getDeviceCount);
    find(cudart, "cudaSetDevice", &cuda.setDevice);
    find(cudart, "cudaMalloc", &cuda.allocate);
    find(cudart, "cudaMemset", &cuda.set);
    find(cudart, "cudaDeviceSynchronize", &cuda.synchronize);
    find(cudart, "cudaStreamCreateWithFlags", &cuda.createStream);
    find(cudart, "cudaStreamSynchronize", &cuda.awaitStream);
    find(cudart, "cudaGetErrorString", &cuda.errorString);
    find(libnccl, "ncclGetUniqueId", &nccl.getUniqueId);
    find(libnccl, "ncclCommInitRank", &nccl.join);
    find(libnccl, "ncclAllReduce", &nccl.allReduce);
    find(libnccl, "ncclCommDestroy", &nccl.leave);
    find(libnccl, "ncclGetErrorString", &nccl.errorString);
}

static double micros(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static double mean(void *memory, size_t bytes, Communicator communicator, Stream stream) {
    double begun = 0;
    for (int i = -WARM_UPS; i < CALLS; i++) {
        if (i == 0) begun = micros();
        check_nccl("ncclAllReduce", nccl.allReduce(memory, memory, bytes / 4, FLOAT, SUM, communicator, stream));
        check_cuda("cudaStreamSynchronize", cuda.awaitStream(stream));
    }
    return (micros() - begun) / CALLS;
}

static void choose_gpu(int rank, int ranks) {
    int gpus;
    char name[16];
    check_cuda("cudaGetDeviceCount", cuda.getDeviceCount(&gpus));
    check_cuda("cudaSetDevice", cuda.setDevice(rank % gpus));
    if (ranks > gpus && (host_ids || getenv("NCCL_MULTI_RANK_GPU_ENABLE") == NULL)) {
        snprintf(name, sizeof name, "rank%d", rank);
        setenv("NCCL_HOSTID", name, 1);
    }
}

/* Rank 0 makes the id and writes it into the pipe of each other rank. */
static UniqueId agree(int rank, int ranks, int pipes[][2]) {
    UniqueId id;
    if (rank > 0) {
        if (read(pipes[rank][0], &id, sizeof id) != sizeof id) fail("reading the id", "rank 0 has ended");
        return id;
    }
    check_nccl("ncclGetUniqueId", nccl.getUniqueId(&id));
    for (int other = 1; other < ranks; other++) {
        if (write(pipes[other][1], &id, sizeof id) != sizeof id) fail("writing the id", "a rank has ended");
    }
    return id;
}

static void run(int rank, int ranks, int pipes[][2]) {
    Communicator communicator;
    Stream stream;
    void *memory;
    open_libraries();
    choose_gpu(rank, ranks);
    check_nccl("ncclCommInitRank", nccl.join(&communicator, ranks, agree(rank, ranks, pipes), rank));
    check_cuda("cudaStreamCreateWithFlags", cuda.createStream(&stream, STREAM_NON_BLOCKING));
    check_cuda("cudaMalloc", cuda.allocate(&memory, last_bytes));
    check_cuda("cudaMemset", cuda.set(memory, 0, last_bytes));
    check_cuda("cudaDeviceSynchronize", cuda.synchronize());
    if (rank == 0) printf("bytes:microseconds");
    for (size_t bytes = FIRST_BYTES; bytes <= last_bytes; bytes *= 2) {
        double time = mean(memory, bytes, communicator, stream);
        if (rank == 0) printf(" %zu:%.1f", bytes, time);
    }
    if (rank == 0) printf("\n");
    check_nccl("ncclCommDestroy", nccl.leave(communicator));
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
    int ranks = argc >= 2 ? atoi(argv[1]) : 0;
    int pipes[MOST_RANKS][2];
    pid_t children[MOST_RANKS];
    if (ranks < 1 || ranks > MOST_RANKS) fail("calls RANKS", "RANKS is from 1 to 64");
    if (argc >= 3) last_bytes = strtoul(argv[2], NULL, 10);
    if (last_bytes < FIRST_BYTES || last_bytes > MOST_BYTES) fail("calls RANKS LAST_BYTES", "LAST_BYTES is from 8 to 1 GiB");
    host_ids = argc == 4 && strcmp(argv[3], "host-ids") == 0;
    if (argc > 4 || (argc == 4 && !host_ids)) fail("calls RANKS LAST_BYTES host-ids", "there are other words");
    signal(SIGPIPE, SIG_IGN);
    for (int rank = 0; rank < ranks; rank++) {
        if (pipe(pipes[rank]) != 0) fail("pipe", "no more descriptors");
    }
    /* CUDA does not outlive a fork, so nothing of it is opened before. */
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
