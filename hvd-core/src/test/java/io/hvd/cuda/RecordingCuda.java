package io.hvd.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Writes down what would have been called. It proves the order of the calls and what they are given, never that a
 * device does the right thing with them.
 *
 * <p>It plays a device that does nothing until somebody waits for it: what a copy was given is compared with what is
 * there when an event behind it is awaited, so that a buffer that was written too early shows.
 */
final class RecordingCuda implements CudaCalls {
    int driver = 12040;
    int capability = 90;
    boolean launchesFail;

    private final List<String> calls = new ArrayList<>();
    private final List<Copy> underWay = new ArrayList<>();
    private final Map<Long, List<Copy>> behindEvents = new HashMap<>();
    private final Map<ByteBuffer, String> pinned = new java.util.IdentityHashMap<>();
    private final Map<Long, Long> memory = new HashMap<>();
    private long nextAddress = 0x10000;
    private long nextHandle;

    /** A copy to the device and the bytes that were there when it was queued. */
    private record Copy(ByteBuffer from, byte[] bytes) {
        static Copy of(ByteBuffer from, int at, int bytes) {
            byte[] now = new byte[bytes];
            from.get(at, now);
            return new Copy(from, now);
        }

        void assertUnchanged() {
            byte[] now = new byte[bytes.length];
            from.get(0, now);
            assertThat(now).as("a table that the device had not read yet").isEqualTo(bytes);
        }
    }

    /** What was called since the last time somebody asked. */
    List<String> takeCalls() {
        List<String> taken = List.copyOf(calls);
        calls.clear();
        return taken;
    }

    /** What is neither freed nor destroyed. */
    int held() {
        return pinned.size() + memory.size() + (int) nextHandle;
    }

    @Override
    public int driverVersion() {
        return driver;
    }

    @Override
    public int computeCapability() {
        return capability;
    }

    @Override
    public int multiprocessors() {
        return 4;
    }

    @Override
    public long allocate(long bytes) {
        long address = nextAddress;
        nextAddress += 0x10000;
        memory.put(address, bytes);
        calls.add("allocate " + bytes + " at " + hex(address));
        return address;
    }

    @Override
    public void free(long address) {
        assertThat(memory.remove(address)).as("memory to free").isNotNull();
        calls.add("free " + hex(address));
    }

    @Override
    public ByteBuffer allocatePinned(int bytes) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
        String name = "pinned " + (pinned.size() + 1);
        pinned.put(buffer, name);
        calls.add("allocate " + name + " of " + bytes);
        return buffer;
    }

    @Override
    public void freePinned(ByteBuffer buffer) {
        calls.add("free " + pinned.remove(buffer));
    }

    @Override
    public void copyToDevice(long to, ByteBuffer from, int at, int bytes, long stream) {
        underWay.add(Copy.of(from, at, bytes));
        calls.add("copy " + bytes + " of " + pinned.get(from) + " from " + at + " to " + hex(to) + on(stream));
    }

    @Override
    public void copyToHost(ByteBuffer to, int at, long from, int bytes, long stream) {
        calls.add("copy " + bytes + " of " + hex(from) + " to " + pinned.get(to) + " from " + at + on(stream));
    }

    @Override
    public void clear(long address, long bytes, long stream) {
        calls.add("clear " + bytes + " at " + hex(address) + on(stream));
    }

    @Override
    public void fill(long address, long value, int width, long elements, long stream) {
        calls.add("fill " + elements + " of " + width + " bytes at " + hex(address) + on(stream));
    }

    @Override
    public void enter() {
        // There is one.
    }

    @Override
    public long createStream() {
        nextHandle++;
        calls.add("create stream");
        return 0x50;
    }

    @Override
    public void destroyStream(long stream) {
        nextHandle--;
        calls.add("destroy stream " + hex(stream));
    }

    @Override
    public void awaitStream(long stream) {
        calls.add("await stream " + hex(stream));
    }

    @Override
    public long createEvent() {
        nextHandle++;
        calls.add("create event " + hex(nextHandle));
        return nextHandle;
    }

    @Override
    public void destroyEvent(long event) {
        nextHandle--;
        calls.add("destroy event " + hex(event));
    }

    @Override
    public void recordEvent(long event, long stream) {
        behindEvents.put(event, List.copyOf(underWay));
        underWay.clear();
        calls.add("record " + hex(event) + on(stream));
    }

    @Override
    public void holdUntil(long stream, long event) {
        calls.add("hold " + hex(stream) + " until " + hex(event));
    }

    @Override
    public void awaitEvent(long event) {
        behindEvents.getOrDefault(event, List.of()).forEach(Copy::assertUnchanged);
        calls.add("await event " + hex(event));
    }

    @Override
    public boolean isReached(long event) {
        calls.add("ask for event " + hex(event));
        return false;
    }

    @Override
    public long createTimedEvent() {
        nextHandle++;
        calls.add("create timed event " + hex(nextHandle));
        return nextHandle;
    }

    @Override
    public float millisBetween(long earlier, long later) {
        calls.add("ask for the time from " + hex(earlier) + " to " + hex(later));
        return 1;
    }

    @Override
    public long context() {
        return 0xC0;
    }

    @Override
    public long loadModule(String ptx) {
        calls.add("load module");
        return 0xA0;
    }

    @Override
    public void unloadModule(long module) {
        calls.add("unload module " + hex(module));
    }

    @Override
    public long function(long module, String entry) {
        calls.add("look up " + entry);
        return 0xF0;
    }

    @Override
    public void launch(long function, Grid grid, Arguments given, long stream) {
        calls.add("launch " + grid.blocks() + "x" + grid.threads() + " with " + given.rows() + " rows at "
                + hex(given.table()) + ", " + given.tiles() + " tiles, scale " + given.scale() + ", flag "
                + hex(given.nonFinite()) + on(stream));
        if (launchesFail) {
            throw new io.hvd.error.HvdException(io.hvd.error.ErrorId.BACK_END, "the launch failed");
        }
    }

    @Override
    public void close() {
        calls.add("close");
    }

    private static String on(long stream) {
        return " on " + hex(stream);
    }

    private static String hex(long number) {
        return Long.toHexString(number);
    }
}
