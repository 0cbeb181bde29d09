// A CUDA stream: work in its order, on a thread of its own, which does nothing before somebody waits for it or asks how
// far it is. Whoever should have waited for a stream and has not finds its work undone, every time.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

class Stream : public std::enable_shared_from_this<Stream> {
  public:
    static std::shared_ptr<Stream> begin(int device);

    int device() const { return onDevice; }

    /** Queues work; returns how much has been queued so far, this included. */
    uint64_t queue(std::function<void()> work);
    uint64_t queued();
    /** Asking makes it begin. */
    bool hasDone(uint64_t amount);
    /** Blocks until so much of what was queued is done. */
    void await(uint64_t amount);
    void awaitAll() { await(queued()); }
    /** All that is queued is done, and then the thread ends. */
    void end();

  private:
    explicit Stream(int device) : onDevice(device) {}

    void run();
    void want(uint64_t amount);

    const int onDevice;
    std::mutex lock;
    std::condition_variable changed;
    std::deque<std::function<void()>> waiting;
    uint64_t taken = 0;
    uint64_t wanted = 0;
    uint64_t done = 0;
    bool ending = false;
};
