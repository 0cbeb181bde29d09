package io.hvd.cuda;

import io.hvd.error.HvdException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.locks.LockSupport;
import jcuda.driver.JCudaDriver;

/** Calls to the driver that runs on the CPU, right ones and wrong ones, in a process of their own. */
public final class CallsOnHost {
    private static final int BYTES = 1 << 20;

    private final InstalledCuda cuda;

    private CallsOnHost(InstalledCuda cuda) {
        this.cuda = cuda;
    }

    public static void main(String[] args) {
        JCudaLibraries.load();
        CallsOnHost calls = new CallsOnHost(InstalledCuda.open(0));
        calls.copies();
        calls.memory();
        calls.order();
        calls.times();
        calls.launches();
        calls.callsOfAProgramThatLetsJCudaThrow();
    }

    private void copies() {
        long memory = cuda.allocate(100);
        long stream = cuda.createStream();
        ByteBuffer pinned = cuda.allocatePinned(100);
        say("copy of all", () -> cuda.copyToDevice(memory, pinned, 0, 100, stream));
        say("copy past the end", () -> cuda.copyToDevice(memory + 1, pinned, 0, 100, stream));
        say(
                "copy from the heap's neighbour",
                () -> cuda.copyToDevice(memory, ByteBuffer.allocateDirect(100), 0, 100, stream));
        say("copy on a stream that is none", () -> cuda.copyToDevice(memory, pinned, 0, 100, stream + 8));
        cuda.awaitStream(stream);
        say("free", () -> cuda.free(memory));
        say("free again", () -> cuda.free(memory));
        say("clear what is freed", () -> cuda.clear(memory, 1, stream));
    }

    private void memory() {
        long first = cuda.allocate(257);
        say("aligned " + first % 256, () -> {});
        say("clear all", () -> cuda.clear(first, 257, 0));
        say("clear one too many", () -> cuda.clear(first, 258, 0));
        for (int width : new int[] {1, 2, 4, 8}) {
            say("fill all of " + width, () -> cuda.fill(first, 0x8877665544332211L, width, 256 / width, 0));
            say("filled by " + width + " " + Long.toHexString(start(first)), () -> {});
            say("fill one too many of " + width, () -> cuda.fill(first, 1, width, 257 / width + 1, 0));
        }
    }

    /** The first 8 bytes as a number. */
    private long start(long memory) {
        ByteBuffer read = cuda.allocatePinned(8);
        cuda.copyToHost(read, 0, memory, 8, 0);
        cuda.awaitStream(0);
        return read.order(ByteOrder.LITTLE_ENDIAN).getLong(0);
    }

    /** What one stream writes another one reads too early, but for an event between them. */
    private void order() {
        long memory = cuda.allocate(BYTES);
        ByteBuffer written = cuda.allocatePinned(BYTES);
        written.put(BYTES - 1, (byte) 7);
        say("without an event " + lastByte(memory, written, false), () -> {});
        say("with an event " + lastByte(memory, written, true), () -> {});
    }

    private int lastByte(long memory, ByteBuffer written, boolean ordered) {
        long writer = cuda.createStream();
        long reader = cuda.createStream();
        ByteBuffer read = cuda.allocatePinned(BYTES);
        cuda.clear(memory, BYTES, reader);
        cuda.awaitStream(reader);
        cuda.copyToDevice(memory, written, 0, BYTES, writer);
        if (ordered) {
            long event = cuda.createEvent();
            cuda.recordEvent(event, writer);
            cuda.holdUntil(reader, event);
        }
        cuda.copyToHost(read, 0, memory, BYTES, reader);
        cuda.awaitStream(reader);
        cuda.awaitStream(writer);
        return read.get(BYTES - 1);
    }

    /** Two events on one stream, with a pause between them. */
    private void times() {
        long stream = cuda.createStream();
        long before = cuda.createTimedEvent();
        long after = cuda.createTimedEvent();
        long timeless = cuda.createEvent();
        cuda.recordEvent(before, stream);
        cuda.awaitEvent(before);
        say("time of an event that is not recorded", () -> cuda.millisBetween(before, after));
        long begun = System.nanoTime();
        LockSupport.parkNanos(5_000_000);
        long parked = System.nanoTime() - begun;
        cuda.recordEvent(after, stream);
        cuda.recordEvent(timeless, stream);
        say("time of an event that is not reached", () -> cuda.millisBetween(before, after));
        cuda.awaitEvent(timeless);
        float millis = cuda.millisBetween(before, after);
        say("time between " + (millis >= parked / 1e6f && millis < 10_000), () -> {});
        say("time of an event that notes none", () -> cuda.millisBetween(before, timeless));
    }

    private void launches() {
        long module = cuda.loadModule(SegmentKernels.ptx());
        long function = cuda.function(module, "hvd_copy_1");
        CudaCalls.Arguments nothing = new CudaCalls.Arguments(cuda.allocate(64), 0, 0, 1, 0);
        say("launch", () -> cuda.launch(function, new CudaCalls.Grid(1, 256), nothing, 0));
        say("launch of too many threads", () -> cuda.launch(function, new CudaCalls.Grid(1, 257), nothing, 0));
        say("unknown kernel", () -> cuda.function(module, "hvd_copy_3"));
        say("text for PTX", () -> cuda.loadModule("no PTX"));
    }

    /** The setting is for the whole process. */
    private void callsOfAProgramThatLetsJCudaThrow() {
        JCudaDriver.setExceptionsEnabled(true);
        try {
            long stream = cuda.createStream();
            cuda.clear(cuda.allocate(BYTES), BYTES, stream);
            CudaEvent event = CudaEvent.on(stream, cuda);
            say("throwing, an event ahead is reached: " + event.isReached(), () -> {});
            cuda.awaitStream(stream);
            say("throwing, an event behind is reached: " + event.isReached(), () -> {});
            say("throwing, unknown kernel", () -> cuda.function(cuda.loadModule(SegmentKernels.ptx()), "hvd_copy_3"));
            say("throwing, more memory than there is", () -> cuda.allocate(1L << 60));
            say("throwing, a code without a name " + DriverCode.explain(12345), () -> {});
        } finally {
            JCudaDriver.setExceptionsEnabled(false);
        }
    }

    private static void say(String what, Runnable call) {
        try {
            call.run();
            System.out.println("CALL " + what + ": done");
        } catch (HvdException e) {
            System.out.println("CALL " + what + ": " + e.getMessage());
        }
    }
}
