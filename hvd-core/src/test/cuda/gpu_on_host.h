// What CUDA C adds to C++, as far as segments.cu uses it, for the host's compiler: a launch becomes two loops, one over
// the blocks and one over their threads. That is right for kernels whose threads do not wait for each other.
#pragma once
#include <cstdint>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __isGlobal(pointer) true
#define __builtin_assume(fact)

struct Place {
    unsigned x;
};

static Place blockIdx, threadIdx, gridDim;

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
