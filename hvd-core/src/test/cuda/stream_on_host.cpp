#include "stream_on_host.h"

#include <thread>

std::shared_ptr<Stream> Stream::begin(int device) {
    std::shared_ptr<Stream> stream(new Stream(device));
    std::thread([stream] { stream->run(); }).detach();
    return stream;
}

uint64_t Stream::queue(std::function<void()> work) {
    std::lock_guard<std::mutex> alone(lock);
    waiting.push_back(std::move(work));
    return ++taken;
}

uint64_t Stream::queued() {
    std::lock_guard<std::mutex> alone(lock);
    return taken;
}

/** The lock is held. */
void Stream::want(uint64_t amount) {
    if (wanted < amount) {
        wanted = amount;
        changed.notify_all();
    }
}

bool Stream::hasDone(uint64_t amount) {
    std::lock_guard<std::mutex> alone(lock);
    want(amount);
    return done >= amount;
}

void Stream::await(uint64_t amount) {
    std::unique_lock<std::mutex> held(lock);
    want(amount);
    changed.wait(held, [&] { return done >= amount; });
}

void Stream::end() {
    std::lock_guard<std::mutex> alone(lock);
    ending = true;
    want(taken);
    changed.notify_all();
}

void Stream::run() {
    std::unique_lock<std::mutex> held(lock);
    for (;;) {
        changed.wait(held, [&] { return ending || done < wanted; });
        if (done == wanted) {
            return;
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
