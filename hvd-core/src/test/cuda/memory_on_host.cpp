// An allocation ends where a forbidden page begins, but for what brings its start to a multiple of 256 bytes; these few
// bytes hold a pattern that is looked at in the end.
#include "memory_on_host.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

static const size_t PAGE = 4096;
static const size_t ALIGNMENT = 256;
static const unsigned char UNTOUCHED = 0xa5;

static size_t up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

uint64_t Memory::allocate(size_t bytes, int owner) {
    size_t room = up(bytes, ALIGNMENT);
    size_t pages = up(room, PAGE);
    char* base = (char*) mmap(nullptr, pages + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || mprotect(base + PAGE, pages, PROT_READ | PROT_WRITE) != 0) {
        return 0;
    }
    char* start = base + PAGE + pages - room;
    std::memset(base + PAGE, UNTOUCHED, pages);
    std::lock_guard<std::mutex> alone(lock);
    all[(uint64_t) start] = {bytes, room, owner};
    return (uint64_t) start;
}

bool Memory::free(uint64_t address, int owner) {
    std::lock_guard<std::mutex> alone(lock);
    auto found = all.find(address);
    if (found == all.end() || found->second.owner != owner) {
        return false;
    }
    Allocation gone = found->second;
    for (size_t at = gone.bytes; at < gone.room; at++) {
        if (((unsigned char*) address)[at] != UNTOUCHED) {
            std::fprintf(stderr, "host GPU: byte %zu of an allocation of %zu bytes was written\n", at, gone.bytes);
            std::abort();
        }
    }
    all.erase(found);
    size_t pages = up(gone.room, PAGE);
    munmap((char*) address + gone.room - pages - PAGE, pages + 2 * PAGE);
    return true;
}

const Memory::Allocation* Memory::around(uint64_t address, uint64_t* start) {
    auto next = all.upper_bound(address);
    if (next == all.begin()) {
        return nullptr;
    }
    --next;
    *start = next->first;
    return address < next->first + next->second.bytes ? &next->second : nullptr;
}

bool Memory::holds(uint64_t address, size_t bytes, int owner) {
    std::lock_guard<std::mutex> alone(lock);
    uint64_t start = 0;
    const Allocation* found = around(address, &start);
    return found != nullptr && found->owner == owner && address + bytes <= start + found->bytes;
}

int Memory::ownerOf(uint64_t address, int none) {
    std::lock_guard<std::mutex> alone(lock);
    uint64_t start = 0;
    const Allocation* found = around(address, &start);
    return found == nullptr ? none : found->owner;
}
