// What a piece of PTX says about its entry points, which is checked against the same kernels compiled for the host.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

struct PtxEntry {
    std::vector<size_t> parameterBytes;
    /** 0 if it does not say. */
    unsigned mostThreads;
    bool waits;
};

/** 63 for PTX ISA 6.3; 0 if the text is no PTX. */
int ptxVersion(const std::string& ptx);

/** 75 for sm_75. */
int ptxTarget(const std::string& ptx);

/** The newest PTX ISA that the driver of a CUDA version takes, by NVIDIA's table of PTX releases. */
int newestPtx(int cudaVersion);

bool ptxEntry(const std::string& ptx, const std::string& name, PtxEntry* entry);
