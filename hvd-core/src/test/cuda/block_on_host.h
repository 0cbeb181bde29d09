// Runs the threads of a launch on one thread of the CPU.
#pragma once
#include "kernels_on_host.h"

struct Extent {
    unsigned x, y, z;

    unsigned count() const { return x * y * z; }
};

/** @param waiting whether the kernel has __syncthreads() */
void runLaunch(const HostKernel& kernel, Extent grid, Extent block, bool waiting, void** arguments);
