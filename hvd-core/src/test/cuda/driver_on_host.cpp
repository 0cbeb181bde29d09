// A libcuda.so.1 for machines without a GPU: the part of the CUDA driver's interface that hvd and its examples use. It
// runs the kernels' own source, compiled for the host, and takes nothing on trust: what it refuses it explains on
// standard error. It proves the calls, their arguments and their order, not a device; its speed means nothing.
//
//   HOST_CUDA_DEVICES      GPUs that it shows, 1 if not set
//   HOST_CUDA_VERSION      CUDA version of the driver, such as 12040
//   HOST_CUDA_CAPABILITY   compute capability of the GPUs, such as 75
//   HOST_CUDA_INIT         what cuInit answers, 0 if not set
#include "block_on_host.h"
#include "kernels_on_host.h"
#include "memory_on_host.h"
#include "module_on_host.h"
#include "stream_on_host.h"

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NO_BINARY_FOR_GPU = 209,
    UNSUPPORTED_PTX_VERSION = 222,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    NOT_SUPPORTED = 801,
    SYSTEM_DRIVER_MISMATCH = 803,
};

static const char* const NAMES[][2] = {
        {"0", "CUDA_SUCCESS"},
        {"1", "CUDA_ERROR_INVALID_VALUE"},
        {"2", "CUDA_ERROR_OUT_OF_MEMORY"},
        {"3", "CUDA_ERROR_NOT_INITIALIZED"},
        {"100", "CUDA_ERROR_NO_DEVICE"},
        {"101", "CUDA_ERROR_INVALID_DEVICE"},
        {"200", "CUDA_ERROR_INVALID_IMAGE"},
        {"201", "CUDA_ERROR_INVALID_CONTEXT"},
        {"209", "CUDA_ERROR_NO_BINARY_FOR_GPU"},
        {"222", "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
        {"400", "CUDA_ERROR_INVALID_HANDLE"},
        {"500", "CUDA_ERROR_NOT_FOUND"},
        {"600", "CUDA_ERROR_NOT_READY"},
        {"801", "CUDA_ERROR_NOT_SUPPORTED"},
        {"803", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
};

// ---- what there is ----

struct Device {
    int index;
    int retained = 0;
    std::shared_ptr<Stream> defaultStream;
};

/** A place in a stream. */
struct Place {
    std::shared_ptr<Stream> stream;
    uint64_t amount;
};

typedef std::chrono::steady_clock Clock;

/** The places that an event was recorded at; none before that, and several for an event of a whole context. */
struct Event {
    bool timed = false;
    std::vector<Place> places;
    /** The time at which the place of a timed event was reached. */
    std::shared_ptr<Clock::time_point> time;

    bool isReached() const {
        bool all = true;
        for (const Place& place : places) {
            all &= place.stream->hasDone(place.amount);
        }
        return all;
    }

    void await() const {
        for (const Place& place : places) {
            place.stream->await(place.amount);
        }
    }
};

struct Module {
    std::string ptx;
};

struct Function {
    std::string name;
    const HostKernel* kernel;
    PtxEntry entry;
};

/** Never destroyed: streams may still run when the process ends. */
struct Driver {
    std::mutex lock;
    bool initialized = false;
    std::map<int, Device> devices;
    Memory memory;
    std::map<void*, std::shared_ptr<Stream>> streams;
    std::map<void*, Event> events;
    std::set<void*> modules;
    std::map<void*, Function> functions;
};

static Driver& driver = *new Driver;
static thread_local Device* current = nullptr;

static int setting(const char* name, int otherwise) {
    const char* value = std::getenv(name);
    return value == nullptr ? otherwise : std::atoi(value);
}

static int deviceCount() { return setting("HOST_CUDA_DEVICES", 1); }

static int driverVersion() { return setting("HOST_CUDA_VERSION", 12040); }

static int capability() { return setting("HOST_CUDA_CAPABILITY", 75); }

__attribute__((format(printf, 2, 3))) static int refused(int code, const char* format, ...) {
    va_list values;
    va_start(values, format);
    std::fprintf(stderr, "host GPU: ");
    std::vfprintf(stderr, format, values);
    std::fprintf(stderr, "\n");
    va_end(values);
    return code;
}

typedef std::lock_guard<std::mutex> Alone;

/** The stream of a handle on the current GPU; null, with the reason in {@code code}, if there is none. */
static std::shared_ptr<Stream> streamOf(void* handle, const char* call, int* code) {
    Alone alone(driver.lock);
    if (current == nullptr || current->retained == 0) {
        *code = refused(INVALID_CONTEXT, "%s on a thread without a current context", call);
        return nullptr;
    }
    if (handle == nullptr) {
        if (current->defaultStream == nullptr) {
            current->defaultStream = Stream::begin(current->index);
        }
        return current->defaultStream;
    }
    auto found = driver.streams.find(handle);
    if (found == driver.streams.end() || found->second->device() != current->index) {
        *code = refused(INVALID_HANDLE, "%s: %p is no stream of GPU %d", call, handle, current->index);
        return nullptr;
    }
    return found->second;
}

static std::vector<std::shared_ptr<Stream>> streamsOf(int device) {
    Alone alone(driver.lock);
    std::vector<std::shared_ptr<Stream>> all;
    for (auto& entry : driver.streams) {
        if (entry.second->device() == device) {
            all.push_back(entry.second);
        }
    }
    if (driver.devices[device].defaultStream != nullptr) {
        all.push_back(driver.devices[device].defaultStream);
    }
    return all;
}

static void awaitDevice(int device) {
    for (auto& stream : streamsOf(device)) {
        stream->awaitAll();
    }
}

// ---- start, GPUs, contexts ----

extern "C" int cuInit(unsigned) {
    Alone alone(driver.lock);
    int answer = setting("HOST_CUDA_INIT", deviceCount() == 0 ? NO_DEVICE : SUCCESS);
    for (int index = 0; answer == SUCCESS && index < deviceCount(); index++) {
        driver.devices[index].index = index;
        driver.initialized = true;
    }
    return answer;
}

extern "C" int cuDriverGetVersion(int* version) {
    *version = driverVersion();
    return SUCCESS;
}

extern "C" int cuDeviceGetCount(int* count) {
    if (!driver.initialized) {
        return refused(NOT_INITIALIZED, "cuDeviceGetCount before cuInit");
    }
    *count = deviceCount();
    return SUCCESS;
}

extern "C" int cuDeviceGet(int* device, int ordinal) {
    if (!driver.initialized) {
        return refused(NOT_INITIALIZED, "cuDeviceGet before cuInit");
    }
    *device = ordinal;
    return ordinal >= 0 && ordinal < deviceCount() ? SUCCESS : INVALID_DEVICE;
}

extern "C" int cuDeviceGetName(char* name, int length, int device) {
    std::snprintf(name, length, "CPU in place of GPU %d", device);
    return SUCCESS;
}

extern "C" int cuDeviceGetPCIBusId(char* id, int length, int device) {
    std::snprintf(id, length, "0000:%02x:00.0", device + 1);
    return SUCCESS;
}

extern "C" int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
    *bytes = std::size_t{2} << 30;
    return SUCCESS;
}

extern "C" int cuDeviceGetAttribute(int* value, int attribute, int device) {
    switch (attribute) {
        case 16: // multiprocessors
            *value = 4;
            return SUCCESS;
        case 75:
            *value = capability() / 10;
            return SUCCESS;
        case 76:
            *value = capability() % 10;
            return SUCCESS;
        default:
            return refused(INVALID_VALUE, "attribute %d of GPU %d is not known here", attribute, device);
    }
}

extern "C" int cuDevicePrimaryCtxRetain(void** context, int device) {
    Alone alone(driver.lock);
    auto found = driver.devices.find(device);
    if (found == driver.devices.end()) {
        return refused(INVALID_DEVICE, "no GPU %d to retain the context of", device);
    }
    found->second.retained++;
    *context = &found->second;
    return SUCCESS;
}

extern "C" int cuDevicePrimaryCtxRelease_v2(int device) {
    Alone alone(driver.lock);
    Device& released = driver.devices[device];
    if (released.retained == 0) {
        return refused(INVALID_CONTEXT, "the context of GPU %d is released more often than retained", device);
    }
    released.retained--;
    return SUCCESS;
}

extern "C" int cuCtxSetCurrent(void* context) {
    current = (Device*) context;
    return SUCCESS;
}

extern "C" int cuCtxGetCurrent(void** context) {
    *context = current;
    return SUCCESS;
}

extern "C" int cuCtxGetDevice(int* device) {
    if (current == nullptr) {
        return INVALID_CONTEXT;
    }
    *device = current->index;
    return SUCCESS;
}

extern "C" int cuCtxSynchronize() {
    if (current == nullptr) {
        return refused(INVALID_CONTEXT, "cuCtxSynchronize on a thread without a current context");
    }
    awaitDevice(current->index);
    return SUCCESS;
}

extern "C" int cuGetErrorName(int code, const char** name) {
    for (auto& known : NAMES) {
        if (std::atoi(known[0]) == code) {
            *name = known[1];
            return SUCCESS;
        }
    }
    *name = "CUDA_ERROR_UNKNOWN";
    return SUCCESS;
}

extern "C" int cuGetErrorString(int, const char** text) {
    *text = "said by a CPU in place of a GPU";
    return SUCCESS;
}

// ---- memory ----

static int allocated(uint64_t* address, size_t bytes, int owner) {
    if (current == nullptr || bytes == 0) {
        return refused(INVALID_VALUE, "allocation of %zu bytes, %s", bytes, current ? "GPU in use" : "no context");
    }
    *address = driver.memory.allocate(bytes, owner);
    return *address == 0 ? OUT_OF_MEMORY : SUCCESS;
}

extern "C" int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
    return allocated(address, bytes, current == nullptr ? HOST : current->index);
}

/** The real one waits for the device too. */
extern "C" int cuMemFree_v2(uint64_t address) {
    if (current == nullptr) {
        return refused(INVALID_CONTEXT, "cuMemFree on a thread without a current context");
    }
    awaitDevice(current->index);
    return driver.memory.free(address, current->index)
                   ? SUCCESS
                   : refused(INVALID_VALUE, "cuMemFree of %#llx, where nothing of GPU %d begins",
                             (unsigned long long) address, current->index);
}

extern "C" int cuMemAllocHost_v2(void** address, size_t bytes) { return allocated((uint64_t*) address, bytes, HOST); }

/** Waits for nothing: a copy that is still to come finds its memory gone. */
extern "C" int cuMemFreeHost(void* address) {
    return driver.memory.free((uint64_t) address, HOST)
                   ? SUCCESS
                   : refused(INVALID_VALUE, "cuMemFreeHost of %p, where no pinned memory begins", address);
}

/** A range that must be there when the work is queued and when it is done. */
struct Range {
    uint64_t address;
    size_t bytes;
    int owner;

    bool isThere() const { return driver.memory.holds(address, bytes, owner); }

    int missing(const char* call) const {
        return refused(INVALID_VALUE, "%s: %zu bytes from %#llx on are not inside an allocation of %s %d", call, bytes,
                       (unsigned long long) address, owner == HOST ? "pinned memory" : "GPU", owner);
    }
};

static void requireStill(const Range& range, const char* call) {
    if (!range.isThere()) {
        range.missing(call);
        std::abort();
    }
}

static int queueCopy(const char* call, Range to, Range from, void* handle) {
    int code = SUCCESS;
    std::shared_ptr<Stream> stream = streamOf(handle, call, &code);
    if (stream == nullptr) {
        return code;
    }
    for (const Range& range : {to, from}) {
        if (!range.isThere()) {
            return range.missing(call);
        }
    }
    stream->queue([=] {
        requireStill(to, call);
        requireStill(from, call);
        std::memmove((void*) to.address, (const void*) from.address, to.bytes);
    });
    return SUCCESS;
}

static int device() { return current == nullptr ? HOST : current->index; }

extern "C" int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream) {
    return queueCopy("cuMemcpyHtoDAsync", {to, bytes, device()}, {(uint64_t) from, bytes, HOST}, stream);
}

extern "C" int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream) {
    return queueCopy("cuMemcpyDtoHAsync", {(uint64_t) to, bytes, HOST}, {from, bytes, device()}, stream);
}

extern "C" int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void* stream) {
    return queueCopy("cuMemcpyDtoDAsync", {to, bytes, device()}, {from, bytes, device()}, stream);
}

/** Between any memory of the host and the GPU: on the default stream, and waited for. */
static int copyNow(const char* call, Range onDevice, void* to, const void* from) {
    int code = SUCCESS;
    std::shared_ptr<Stream> stream = streamOf(nullptr, call, &code);
    if (stream == nullptr) {
        return code;
    }
    if (!onDevice.isThere()) {
        return onDevice.missing(call);
    }
    stream->await(stream->queue([=] { std::memcpy(to, from, onDevice.bytes); }));
    return SUCCESS;
}

extern "C" int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
    return copyNow("cuMemcpyHtoD", {to, bytes, device()}, (void*) to, from);
}

extern "C" int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
    return copyNow("cuMemcpyDtoH", {from, bytes, device()}, to, (const void*) from);
}

/** Writes one value to elements, each of which begins so many bytes after the one before. */
template <typename T>
static int setMemory(const char* call, uint64_t to, T value, size_t pitch, size_t count, void* handle) {
    int code = SUCCESS;
    Range range = {to, count == 0 ? 0 : (count - 1) * pitch + sizeof(T), device()};
    std::shared_ptr<Stream> stream = streamOf(handle, call, &code);
    if (stream == nullptr) {
        return code;
    }
    if (to % sizeof(T) != 0 || !range.isThere()) {
        return range.missing(call);
    }
    stream->queue([=] {
        requireStill(range, call);
        for (size_t i = 0; i < count; i++) {
            std::memcpy((char*) to + i * pitch, &value, sizeof(T));
        }
    });
    return SUCCESS;
}

extern "C" int cuMemsetD8Async(uint64_t to, unsigned char value, size_t count, void* stream) {
    return setMemory("cuMemsetD8Async", to, value, 1, count, stream);
}

extern "C" int cuMemsetD16Async(uint64_t to, unsigned short value, size_t count, void* stream) {
    return setMemory("cuMemsetD16Async", to, value, 2, count, stream);
}

extern "C" int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void* stream) {
    return setMemory("cuMemsetD32Async", to, value, 4, count, stream);
}

extern "C" int cuMemsetD2D32Async(
        uint64_t to, size_t pitch, unsigned value, size_t width, size_t height, void* stream) {
    if (width != 1 || pitch % 4 != 0) {
        return refused(NOT_SUPPORTED, "cuMemsetD2D32Async of %zu columns, %zu bytes apart", width, pitch);
    }
    return setMemory("cuMemsetD2D32Async", to, value, pitch, height, stream);
}

// ---- streams and events ----

static const unsigned NON_BLOCKING = 1;

extern "C" int cuStreamCreate(void** handle, unsigned flags) {
    if (current == nullptr || flags != NON_BLOCKING) {
        return refused(NOT_SUPPORTED, "a stream with flags %u: only those that do not wait for the default stream", flags);
    }
    std::shared_ptr<Stream> stream = Stream::begin(current->index);
    Alone alone(driver.lock);
    *handle = stream.get();
    driver.streams[*handle] = stream;
    return SUCCESS;
}

extern "C" int cuStreamDestroy_v2(void* handle) {
    int code = SUCCESS;
    std::shared_ptr<Stream> stream = streamOf(handle, "cuStreamDestroy", &code);
    if (stream == nullptr || handle == nullptr) {
        return INVALID_HANDLE;
    }
    stream->end();
    Alone alone(driver.lock);
    driver.streams.erase(handle);
    return SUCCESS;
}

extern "C" int cuStreamSynchronize(void* handle) {
    int code = SUCCESS;
    std::shared_ptr<Stream> stream = streamOf(handle, "cuStreamSynchronize", &code);
    if (stream != nullptr) {
        stream->awaitAll();
    }
    return code;
}

static const unsigned DISABLE_TIMING = 2;

extern "C" int cuEventCreate(void** handle, unsigned flags) {
    Event event;
    event.timed = !(flags & DISABLE_TIMING);
    Alone alone(driver.lock);
    *handle = new char;
    driver.events[*handle] = event;
    return SUCCESS;
}

static bool eventOf(void* handle, const char* call, Event* event) {
    Alone alone(driver.lock);
    auto found = driver.events.find(handle);
    if (found == driver.events.end()) {
        refused(INVALID_HANDLE, "%s: %p is no event", call, handle);
        return false;
    }
    *event = found->second;
    return true;
}

extern "C" int cuEventDestroy_v2(void* handle) {
    Event event;
    if (!eventOf(handle, "cuEventDestroy", &event)) {
        return INVALID_HANDLE;
    }
    Alone alone(driver.lock);
    driver.events.erase(handle);
    delete (char*) handle;
    return SUCCESS;
}

extern "C" int cuEventRecord(void* handle, void* streamHandle) {
    Event event;
    int code = SUCCESS;
    std::shared_ptr<Stream> stream = streamOf(streamHandle, "cuEventRecord", &code);
    if (stream == nullptr || !eventOf(handle, "cuEventRecord", &event)) {
        return INVALID_HANDLE;
    }
    if (event.timed) {
        auto time = std::make_shared<Clock::time_point>();
        stream->queue([time] { *time = Clock::now(); });
        event.time = time;
    }
    event.places = {{stream, stream->queued()}};
    Alone alone(driver.lock);
    driver.events[handle] = event;
    return SUCCESS;
}

/** Since CUDA 12.5: the event comes after what all streams of the context have now. */
extern "C" int cuCtxRecordEvent(void* context, void* handle) {
    Event event;
    if (!eventOf(handle, "cuCtxRecordEvent", &event)) {
        return INVALID_HANDLE;
    }
    if (current == nullptr || context != current) {
        return refused(INVALID_CONTEXT, "cuCtxRecordEvent: %p is not the current context", context);
    }
    event.places.clear();
    for (auto& stream : streamsOf(current->index)) {
        event.places.push_back({stream, stream->queued()});
    }
    Alone alone(driver.lock);
    driver.events[handle] = event;
    return SUCCESS;
}

extern "C" int cuEventElapsedTime(float* millis, void* earlier, void* later) {
    Event from;
    Event to;
    if (!eventOf(earlier, "cuEventElapsedTime", &from) || !eventOf(later, "cuEventElapsedTime", &to)) {
        return INVALID_HANDLE;
    }
    if (from.time == nullptr || to.time == nullptr) {
        return refused(INVALID_HANDLE, "cuEventElapsedTime of an event that notes no time or was not recorded");
    }
    if (!from.isReached() || !to.isReached()) {
        return NOT_READY;
    }
    *millis = std::chrono::duration<float, std::milli>(*to.time - *from.time).count();
    return SUCCESS;
}

extern "C" int cuStreamWaitEvent(void* streamHandle, void* handle, unsigned) {
    Event event;
    int code = SUCCESS;
    std::shared_ptr<Stream> stream = streamOf(streamHandle, "cuStreamWaitEvent", &code);
    if (stream == nullptr || !eventOf(handle, "cuStreamWaitEvent", &event)) {
        return INVALID_HANDLE;
    }
    stream->queue([=] { event.await(); });
    return SUCCESS;
}

extern "C" int cuEventSynchronize(void* handle) {
    Event event;
    if (!eventOf(handle, "cuEventSynchronize", &event)) {
        return INVALID_HANDLE;
    }
    event.await();
    return SUCCESS;
}

extern "C" int cuEventQuery(void* handle) {
    Event event;
    if (!eventOf(handle, "cuEventQuery", &event)) {
        return INVALID_HANDLE;
    }
    return event.isReached() ? SUCCESS : NOT_READY;
}

// ---- modules and launches ----

extern "C" int cuModuleLoadData(void** handle, const void* image) {
    std::string ptx((const char*) image);
    int version = ptxVersion(ptx);
    if (version == 0) {
        return refused(INVALID_IMAGE, "a module that is no PTX");
    }
    if (version > newestPtx(driverVersion())) {
        return refused(UNSUPPORTED_PTX_VERSION, "PTX ISA %d for a driver of CUDA %d", version, driverVersion());
    }
    if (ptxTarget(ptx) > capability()) {
        return refused(NO_BINARY_FOR_GPU, "PTX for sm_%d on a GPU of sm_%d", ptxTarget(ptx), capability());
    }
    Alone alone(driver.lock);
    *handle = new Module{ptx};
    driver.modules.insert(*handle);
    return SUCCESS;
}

extern "C" int cuModuleUnload(void* handle) {
    Alone alone(driver.lock);
    return driver.modules.erase(handle) == 1 ? SUCCESS : refused(INVALID_HANDLE, "cuModuleUnload: no such module");
}

extern "C" int cuModuleGetFunction(void** handle, void* module, const char* name) {
    Alone alone(driver.lock);
    if (driver.modules.count(module) == 0) {
        return refused(INVALID_HANDLE, "cuModuleGetFunction(%s): no such module", name);
    }
    PtxEntry entry;
    auto kernel = hostKernels().find(name);
    if (!ptxEntry(((Module*) module)->ptx, name, &entry) || kernel == hostKernels().end()) {
        return refused(NOT_FOUND, "no kernel %s in both the PTX and what was compiled for the host", name);
    }
    if (entry.parameterBytes != kernel->second.parameterBytes) {
        return refused(INVALID_IMAGE, "%s has other parameters in the PTX than in the source", name);
    }
    *handle = new char;
    driver.functions[*handle] = {name, &kernel->second, entry};
    return SUCCESS;
}

/** Arguments as they were when the launch was queued. */
class Copied {
  public:
    Copied(const std::vector<size_t>& sizes, void** given) : values(sizes.size()) {
        for (size_t i = 0; i < sizes.size(); i++) {
            std::memcpy(&values[i], given[i], sizes[i]);
        }
    }

    std::vector<void*> pointers() {
        std::vector<void*> all;
        for (uint64_t& value : values) {
            all.push_back(&value);
        }
        return all;
    }

    std::vector<uint64_t> values;
};

/** Numbers may look like addresses, so only those that lie on another GPU or on the host count. */
static int requireOwn(const Function& function, const Copied& arguments, int device) {
    for (size_t i = 0; i < arguments.values.size(); i++) {
        int owner = driver.memory.ownerOf(arguments.values[i], device);
        if (function.entry.parameterBytes[i] == sizeof(uint64_t) && owner != device) {
            return refused(INVALID_VALUE, "argument %zu of %s lies in memory of %d, the launch is on GPU %d", i,
                           function.name.c_str(), owner, device);
        }
    }
    return SUCCESS;
}

extern "C" int cuLaunchKernel(void* handle, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                              unsigned blockY, unsigned blockZ, unsigned sharedBytes, void* streamHandle, void** given,
                              void** extra) {
    int code = SUCCESS;
    std::shared_ptr<Stream> stream = streamOf(streamHandle, "cuLaunchKernel", &code);
    if (stream == nullptr) {
        return code;
    }
    Alone alone(driver.lock);
    auto found = driver.functions.find(handle);
    if (found == driver.functions.end() || sharedBytes != 0 || extra != nullptr) {
        return refused(INVALID_VALUE, "a launch of no known function, or with dynamic shared memory");
    }
    Function function = found->second;
    Extent grid = {gridX, gridY, gridZ};
    Extent block = {blockX, blockY, blockZ};
    unsigned most = function.entry.mostThreads == 0 ? 1024 : function.entry.mostThreads;
    if (grid.count() == 0 || block.count() == 0 || block.count() > most) {
        return refused(INVALID_VALUE, "%s with %u blocks of %u threads, at most %u", function.name.c_str(),
                       grid.count(), block.count(), most);
    }
    Copied arguments(function.entry.parameterBytes, given);
    code = requireOwn(function, arguments, stream->device());
    if (code == SUCCESS) {
        stream->queue([=]() mutable {
            std::vector<void*> pointers = arguments.pointers();
            runLaunch(*function.kernel, grid, block, function.entry.waits, pointers.data());
        });
    }
    return code;
}
