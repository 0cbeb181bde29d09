package io.hvd.kernel;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * Adds long runs of direct memory by a kernel, for a {@link Reducer}. Nothing is copied to arrays for it; the JIT is as
 * fast for data that lies in an array.
 */
final class KernelSum {
    /** The elements of a block; shorter ones are slower, because the processor reads ahead only in long runs. */
    private static final int BLOCK = 16384;
    /** The least number of elements for which a kernel gains time. */
    private static final int LEAST = 4096;
    /** The shortest tensor that is added in place; shorter ones go with their neighbours by way of an array. */
    private static final int SHORTEST = 512;

    private final ReduceKernel kernel;

    KernelSum(ReduceKernel kernel) {
        this.kernel = kernel;
    }

    /** The target may be the first source, to which the others are added. */
    boolean takes(ReduceOp op, DType type, List<ByteBuffer> sources, int count, ByteBuffer target) {
        return op == ReduceOp.SUM
                && kernel.takes(type)
                && count >= LEAST
                && target != null
                && sources.stream().skip(1).noneMatch(source -> source == target);
    }

    /** @return number of elements that it has reduced, from the first one on; 0 if the kernel does not suit */
    int reduce(DType type, List<ByteBuffer> sources, int first, int count, ByteBuffer target, Reducer.Own own) {
        int most = Math.min(BLOCK, count);
        if (own.place() < 0) {
            addTo(target, sources, new Run(type, first, most));
            return most;
        }
        ByteBuffer mine = own.direct(first, most);
        int here = mine == null ? 0 : mine.capacity() / type.bytes();
        if (here < SHORTEST) {
            return 0;
        }
        reduce(mine, target, sources, new Run(type, first, here), own);
        return here;
    }

    /** Elements that lie together in every buffer. */
    private record Run(DType type, int first, int count) {
        ByteBuffer of(ByteBuffer buffer) {
            return buffer.slice(first * type.bytes(), count * type.bytes()).order(ByteOrder.nativeOrder());
        }
    }

    private void reduce(ByteBuffer mine, ByteBuffer target, List<ByteBuffer> sources, Run run, Reducer.Own own) {
        ByteBuffer sum = run.of(target);
        // Two sources may be added in either order.
        boolean toMine = own.receives() && (own.place() == 0 || sources.size() == 2);
        if (toMine) {
            for (int i = 0; i < sources.size(); i++) {
                if (i != own.place()) {
                    add(run.of(sources.get(i)), mine, run);
                }
            }
            scale(mine, run, own);
            copy(mine, sum);
            return;
        }
        copy(own.place() == 0 ? mine : run.of(sources.get(0)), sum);
        for (int i = 1; i < sources.size(); i++) {
            add(i == own.place() ? mine : run.of(sources.get(i)), sum, run);
        }
        scale(sum, run, own);
        if (own.receives()) {
            copy(sum, mine);
        }
    }

    private void addTo(ByteBuffer target, List<ByteBuffer> sources, Run run) {
        ByteBuffer sum = run.of(target);
        if (sources.get(0) != target) {
            copy(run.of(sources.get(0)), sum);
        }
        for (int i = 1; i < sources.size(); i++) {
            add(run.of(sources.get(i)), sum, run);
        }
    }

    private void add(ByteBuffer operand, ByteBuffer sum, Run run) {
        kernel.add(run.type(), operand, sum, run.count());
    }

    private void scale(ByteBuffer sum, Run run, Reducer.Own own) {
        if (!own.scale().isOne()) {
            kernel.multiply(run.type(), own.scale().asFactor(), sum, run.count());
        }
    }

    private static void copy(ByteBuffer from, ByteBuffer to) {
        to.put(0, from, 0, to.capacity());
    }
}
