// A libnccl.so.2 that has nothing but a version, STUB_NCCL_VERSION such as 22803: enough for hvd's way of loading NCCL.
#include <cstdlib>

extern "C" int ncclGetVersion(int* version) {
    *version = std::atoi(std::getenv("STUB_NCCL_VERSION"));
    return 0;
}
