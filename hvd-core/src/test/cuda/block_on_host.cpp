// Threads of a block that wait for each other are fibers: each has a stack of its own, and __syncthreads() hands over to
// the next. One round over all fibers brings every thread to its next barrier or to its end. Rounds go up and down in
// turn, so that a barrier that is missing between two threads shows in one of the two directions.
//
// A fiber begins by setcontext; afterwards _setjmp and _longjmp switch, which need no system call.
#include "block_on_host.h"

#include "gpu_on_host.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sys/mman.h>
#include <ucontext.h>

static const size_t STACK_BYTES = 128 << 10;

struct Fiber {
    ucontext_t start;
    jmp_buf place;
    bool begun;
    bool ended;
};

static std::mutex oneLaunch;
static std::vector<Fiber*>& fibers = *new std::vector<Fiber*>;
static jmp_buf rounds;
static Fiber* running;
static const HostKernel* body;
static void** bodyArguments;

static void handOver() {
    if (_setjmp(running->place) == 0) {
        _longjmp(rounds, 1);
    }
}

static void fiberMain() {
    for (;;) {
        body->thread(bodyArguments);
        running->ended = true;
        handOver();
    }
}

static Fiber* newFiber() {
    Fiber* fiber = new Fiber();
    getcontext(&fiber->start);
    fiber->start.uc_stack.ss_size = STACK_BYTES;
    fiber->start.uc_stack.ss_sp =
            mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    makecontext(&fiber->start, fiberMain, 0);
    return fiber;
}

static Place placeOf(unsigned index, Extent in) { return {index % in.x, index / in.x % in.y, index / in.x / in.y}; }

static void resume(Fiber* fiber) {
    running = fiber;
    if (_setjmp(rounds) == 0) {
        if (fiber->begun) {
            _longjmp(fiber->place, 1);
        }
        fiber->begun = true;
        setcontext(&fiber->start);
    }
}

/** Returns how many threads have ended in this round. */
static unsigned oneRound(Extent block, bool upwards) {
    unsigned ended = 0;
    for (unsigned i = 0; i < block.count(); i++) {
        unsigned thread = upwards ? i : block.count() - 1 - i;
        threadIdx = placeOf(thread, block);
        resume(fibers[thread]);
        ended += fibers[thread]->ended;
    }
    return ended;
}

static void runWaitingBlock(Extent block) {
    while (fibers.size() < block.count()) {
        fibers.push_back(newFiber());
    }
    for (unsigned thread = 0; thread < block.count(); thread++) {
        fibers[thread]->ended = false;
    }
    unsigned ended = 0;
    for (bool upwards = true; ended == 0; upwards = !upwards) {
        ended = oneRound(block, upwards);
    }
    if (ended < block.count()) {
        std::fprintf(stderr, "host GPU: %u of %u threads of a block ended while others wait in __syncthreads()\n", ended,
                     block.count());
        std::abort();
    }
}

static void runPlainBlock(Extent block) {
    for (unsigned thread = 0; thread < block.count(); thread++) {
        threadIdx = placeOf(thread, block);
        body->thread(bodyArguments);
    }
}

void runLaunch(const HostKernel& kernel, Extent grid, Extent block, bool waiting, void** arguments) {
    std::lock_guard<std::mutex> alone(oneLaunch);
    body = &kernel;
    bodyArguments = arguments;
    barrier = handOver;
    gridDim = {grid.x, grid.y, grid.z};
    blockDim = {block.x, block.y, block.z};
    for (unsigned at = 0; at < grid.count(); at++) {
        blockIdx = placeOf(at, grid);
        if (waiting) {
            runWaitingBlock(block);
        } else {
            runPlainBlock(block);
        }
    }
}
