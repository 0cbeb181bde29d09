// What CUDA C adds to C++, as far as our kernels use it, for the host's compiler. A launch becomes loops over the blocks
// and their threads, one launch at a time, so that these places may be plain variables.
#pragma once
#include <cmath>
#include <cstdint>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __isGlobal(pointer) true
#define __builtin_assume(fact)
/** One block runs at a time. */
#define __shared__ static
#define __restrict__

struct Place {
    unsigned x, y, z;
};

inline Place blockIdx, threadIdx, blockDim, gridDim;

/** Set by whoever runs kernels whose threads wait for each other; see block_on_host.cpp. */
inline void (*barrier)() = nullptr;

inline void __syncthreads() { barrier(); }

struct alignas(8) uint2 {
    uint32_t x, y;
};

struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};

template <class Value>
inline void __stwb(Value* to, Value value) {
    *to = value;
}
