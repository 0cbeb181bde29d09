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
            addTo(target, type, sources, first, most);
            return most;
        }
        ByteBuffer mine = own.inPlace(first, most);
        int run = mine == null ? 0 : mine.capacity() / type.bytes();
        if (run < SHORTEST) {
            return 0;
        }
        reduce(mine, part(target, type, first, run), type, sources, first, run, own);
        return run;
    }

    private void reduce(
            ByteBuffer mine,
            ByteBuffer sum,
            DType type,
            List<ByteBuffer> sources,
            int first,
            int run,
            Reducer.Own own) {
        // Two sources may be added in either order.
        boolean toMine = own.place() == 0 || sources.size() == 2;
        if (toMine) {
            for (int i = 0; i < sources.size(); i++) {
                if (i != own.place()) {
                    kernel.add(type, part(sources.get(i), type, first, run), mine, run);
                }
            }
            scale(mine, type, run, own);
            sum.put(0, mine, 0, mine.capacity());
        } else {
            sum.put(0, sources.get(0), first * type.bytes(), sum.capacity());
            for (int i = 1; i < sources.size(); i++) {
                kernel.add(type, i == own.place() ? mine : part(sources.get(i), type, first, run), sum, run);
            }
            scale(sum, type, run, own);
            mine.put(0, sum, 0, sum.capacity());
        }
    }

    private void addTo(ByteBuffer target, DType type, List<ByteBuffer> sources, int first, int run) {
        ByteBuffer sum = part(target, type, first, run);
        if (sources.get(0) != target) {
            sum.put(0, sources.get(0), first * type.bytes(), sum.capacity());
        }
        for (int i = 1; i < sources.size(); i++) {
            kernel.add(type, part(sources.get(i), type, first, run), sum, run);
        }
    }

    private void scale(ByteBuffer sum, DType type, int run, Reducer.Own own) {
        if (!own.scale().isOne()) {
            kernel.multiply(type, own.scale().asFactor(), sum, run);
        }
    }

    private static ByteBuffer part(ByteBuffer buffer, DType type, int first, int run) {
        return buffer.slice(first * type.bytes(), run * type.bytes()).order(ByteOrder.nativeOrder());
    }
}
