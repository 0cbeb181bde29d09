// Runs launches of segments.cu on the CPU, for SegmentsOnHostTest. Reads jobs from a file and writes their results:
//
//   job     entry point (32 bytes, filled up with zeros), factor (double), tiles (int64), segments, blocks (int32),
//           bytes of source and destination (int64; no source bytes: the source is the destination),
//           table, source, destination as it is before. In the table source and destination both begin at address
//           4,096; here they lie at multiples of it.
//   result  the flag (int32), destination as it is afterwards
#include "gpu_on_host.h"

#include "segments.cu"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

typedef void (*Kernel)(const Segment*, int, int64_t, double, int*);

static Kernel kernelNamed(const std::string& wanted) {
#define KERNEL_NAMED(name, Work) \
    if (wanted == #name) {       \
        return name;             \
    }
    HVD_KERNELS(KERNEL_NAMED)
    std::fprintf(stderr, "no entry point %s\n", wanted.c_str());
    std::exit(2);
}

static const uint64_t START = 4096;

struct Job {
    char entry[32];
    double factor;
    int64_t tiles;
    int32_t segments;
    int32_t blocks;
    int64_t sourceBytes;
    int64_t targetBytes;
};

/** Exactly as many bytes as asked for, so that a checker of memory sees what lies behind them. */
static char* read(std::FILE* file, int64_t bytes) {
    void* memory = nullptr;
    if (posix_memalign(&memory, START, bytes) != 0 || std::fread(memory, 1, bytes, file) != (size_t) bytes) {
        std::fprintf(stderr, "a job ends early\n");
        std::exit(2);
    }
    return (char*) memory;
}

static void run(const Job& job, std::FILE* in, std::FILE* out) {
    Segment* table = (Segment*) read(in, job.segments * (int64_t) sizeof(Segment));
    char* source = read(in, job.sourceBytes);
    char* target = read(in, job.targetBytes);
    for (int i = 0; i < job.segments; i++) {
        table[i].from += (uint64_t) (job.sourceBytes == 0 ? target : source) - START;
        table[i].to += (uint64_t) target - START;
    }
    Kernel kernel = kernelNamed(job.entry);
    int nonFinite = 0;
    gridDim.x = job.blocks;
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
        for (threadIdx.x = 0; threadIdx.x < THREADS; threadIdx.x++) {
            kernel(table, job.segments, job.tiles, job.factor, &nonFinite);
        }
    }
    std::fwrite(&nonFinite, sizeof nonFinite, 1, out);
    std::fwrite(target, 1, job.targetBytes, out);
    std::free(table);
    std::free(source);
    std::free(target);
}

int main(int, char** arguments) {
    std::FILE* in = std::fopen(arguments[1], "rb");
    std::FILE* out = std::fopen(arguments[2], "wb");
    Job job;
    while (std::fread(&job, sizeof job, 1, in) == 1) {
        run(job, in, out);
    }
    return std::fclose(out);
}
