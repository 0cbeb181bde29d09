// The thread dawdles before it begins work that comes after a pause: whoever should have waited for a stream and has
// not finds its work undone.
#include "stream_on_host.h"

#include <chrono>
#include <thread>

static const std::chrono::microseconds PAUSE(100);

std::shared_ptr<Stream> Stream::begin(int device) {
    std::shared_ptr<Stream> stream(new Stream(device));
    std::thread([stream] { stream->run(); }).detach();
    return stream;
}

uint64_t Stream::queue(std::function<void()> work) {
    std::lock_guard<std::mutex> alone(lock);
    waiting.push_back(std::move(work));
    changed.notify_all();
    return ++taken;
}

uint64_t Stream::queued() {
    std::lock_guard<std::mutex> alone(lock);
    return taken;
}

bool Stream::hasDone(uint64_t amount) {
    std::lock_guard<std::mutex> alone(lock);
    return done >= amount;
}

void Stream::await(uint64_t amount) {
    std::unique_lock<std::mutex> held(lock);
    changed.wait(held, [&] { return done >= amount; });
}

void Stream::end() {
    std::lock_guard<std::mutex> alone(lock);
    ending = true;
    changed.notify_all();
}

void Stream::run() {
    std::unique_lock<std::mutex> held(lock);
    for (;;) {
        if (waiting.empty()) {
            changed.wait(held, [&] { return ending || !waiting.empty(); });
            if (waiting.empty()) {
                return;
            }
            held.unlock();
            std::this_thread::sleep_for(PAUSE);
            held.lock();
        }
        std::function<void()> work = std::move(waiting.front());
        waiting.pop_front();
        held.unlock();
        work();
        held.lock();
        done++;
        changed.notify_all();
    }
}
