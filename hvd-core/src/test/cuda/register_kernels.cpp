// Brings one CUDA C source into the host's libcuda.so.1. SOURCE names it, ENTRIES a file with a line KERNEL(name) for
// each of the entry points that its PTX has.
#include "gpu_on_host.h"

#include SOURCE

#include "kernels_on_host.h"

#define KERNEL(name) static const int registered_##name = registered(#name, name);
#include ENTRIES
