package io.hvd.backend.nccl;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.util.ArrayList;
import java.util.List;

/**
 * Writes down what would have been called. It proves the order of the calls and what they are given,
 * never that a device does the right thing with them.
 */
final class RecordingNccl implements NcclCalls {
    static final byte[] UNIQUE_ID = {4, 2};
    private static final int SCALED_SUM = 77;

    private final List<String> calls = new ArrayList<>();

    /** What was called since the last time somebody asked. */
    List<String> takeCalls() {
        List<String> taken = List.copyOf(calls);
        calls.clear();
        return taken;
    }

    @Override
    public int versionCode() {
        return 21805;
    }

    @Override
    public String version() {
        return "2.18.5";
    }

    @Override
    public void selectDevice(int index) {
        calls.add("select " + index);
    }

    @Override
    public byte[] uniqueId() {
        calls.add("unique id");
        return UNIQUE_ID;
    }

    @Override
    public long join(byte[] uniqueId, int size, int rank) {
        calls.add("join " + List.of(uniqueId[0], uniqueId[1]) + " as " + rank + " of " + size);
        return 0xC0;
    }

    @Override
    public void leave(long communicator) {
        calls.add("leave " + hex(communicator));
    }

    @Override
    public long createStream() {
        calls.add("create stream");
        return 0x50;
    }

    @Override
    public void destroyStream(long stream) {
        calls.add("destroy stream " + hex(stream));
    }

    @Override
    public void waitFor(long stream) {
        calls.add("wait for " + hex(stream));
    }

    @Override
    public long createEvent() {
        calls.add("create event");
        return 0xE0;
    }

    @Override
    public void destroyEvent(long event) {
        calls.add("destroy event " + hex(event));
    }

    @Override
    public void recordEvent(long event, long stream) {
        calls.add("record " + hex(event) + " on " + hex(stream));
    }

    @Override
    public void holdUntil(long stream, long event) {
        calls.add("hold " + hex(stream) + " until " + hex(event));
    }

    @Override
    public void groupStart() {
        calls.add("group start");
    }

    @Override
    public void groupEnd() {
        calls.add("group end");
    }

    @Override
    public int operator(ReduceOp op) {
        return op.ordinal();
    }

    @Override
    public int createScaledSum(double factor, DType type, long communicator) {
        calls.add("create sum of " + type + " times " + factor);
        return SCALED_SUM;
    }

    @Override
    public void destroyOperator(int operator, long communicator) {
        calls.add("destroy " + name(operator));
    }

    @Override
    public void allReduce(long from, long to, long count, DType type, int operator, long communicator, long stream) {
        calls.add("allreduce " + name(operator) + " " + count + " " + type + " " + hex(from) + " to " + hex(to) + " on "
                + hex(stream));
    }

    @Override
    public void broadcast(long from, long to, long count, DType type, int root, long communicator, long stream) {
        calls.add("broadcast from rank " + root + " " + count + " " + type + " " + hex(from) + " to " + hex(to) + " on "
                + hex(stream));
    }

    private static String name(int operator) {
        return operator == SCALED_SUM ? "scaled sum" : ReduceOp.of(operator).name();
    }

    private static String hex(long handle) {
        return Long.toHexString(handle);
    }
}
