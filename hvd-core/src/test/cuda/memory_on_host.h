// Memory of GPUs that are none, and pinned memory: every allocation lies between pages that nobody may touch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

/** What memory belongs to; GPUs are 0 and up. */
static const int HOST = -1;

class Memory {
  public:
    uint64_t allocate(size_t bytes, int owner);
    /** False if no allocation of the owner begins there. Aborts if something was written behind its end. */
    bool free(uint64_t address, int owner);
    /** Whether all of it lies in one allocation of the owner. */
    bool holds(uint64_t address, size_t bytes, int owner);
    /** The owner of the allocation that the address lies in, or {@code none}. */
    int ownerOf(uint64_t address, int none);

  private:
    struct Allocation {
        size_t bytes;
        size_t room;
        int owner;
    };

    const Allocation* around(uint64_t address, uint64_t* start);

    std::mutex lock;
    std::map<uint64_t, Allocation> all;
};
