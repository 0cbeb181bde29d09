package io.hvd.backend.nccl;

import io.hvd.backend.cuda.SegmentKernels;
import io.hvd.spi.Activities;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.List;

/**
 * Allreduce between GPUs of several nodes in three steps, known from Horovod: a reducescatter leaves every
 * rank of a node one chunk of the node's result, each combines its chunk with the other nodes, and an allgather
 * puts the chunks together. Between two nodes travels as much as one node has, over as many links as it has ranks.
 * One filling is between the nodes while the next is made.
 */
final class HierarchicalAllreduce {
    private final RankGpu gpu;
    private final NcclCommunicator inside;
    private final NodeCrossing across;

    HierarchicalAllreduce(RankGpu gpu, NcclCommunicator inside, NodeCrossing across) {
        this.gpu = gpu;
        this.inside = inside;
        this.across = across;
    }

    /** Whether a stage can be cut into so many chunks. */
    static boolean fits(RankGpu gpu, int ranksOfNode) {
        return gpu.capacity(DType.FLOAT64) >= (long) SegmentKernels.ALIGNMENT * ranksOfNode;
    }

    void report(Activities to) {
        across.report(to);
    }

    void requireSound() {
        inside.requireSound();
        across.requireSound();
    }

    void run(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        long[] sizes = inputs.stream().mapToLong(Tensor::elements).toArray();
        List<Filling> fillings = Filling.of(sizes, capacity(how.wire()));
        Shared before = null;
        for (int i = 0; i < fillings.size(); i++) {
            Shared next = share(fillings.get(i), inputs, how, i % 2);
            putTogether(before, outputs, how);
            before = next;
        }
        putTogether(before, outputs, how);
    }

    /** A filling of which every rank of the node has one chunk. */
    private record Shared(Filling filling, NodeCrossing.Chunk chunk) {}

    private Shared share(Filling filling, List<Tensor> inputs, Reduction how, int slot) {
        long stage = gpu.stage(slot);
        gpu.pack(filling, inputs, how, stage);
        long each = chunkOf(filling.elements());
        long mine = stage + inside.rank() * each * how.wire().bytes();
        inside.with(
                how.op().arithmeticOn(how.wire()),
                operator -> inside.reduceScatter(stage, mine, each, how.wire(), operator));
        NodeCrossing.Chunk chunk = new NodeCrossing.Chunk(mine, each, slot);
        across.set(chunk, how);
        return new Shared(filling, chunk);
    }

    private void putTogether(Shared shared, List<Tensor> outputs, Reduction how) {
        if (shared == null) {
            return;
        }
        across.combine(shared.chunk(), how);
        long stage = gpu.stage(shared.chunk().slot());
        inside.allGather(shared.chunk().address(), stage, shared.chunk().bytes(how));
        gpu.unpack(shared.filling(), outputs, how, stage);
    }

    /** What is behind the last element is combined too, and read by nobody. */
    private long chunkOf(long elements) {
        return up((elements + inside.size() - 1) / inside.size());
    }

    private static long up(long elements) {
        return (elements + SegmentKernels.ALIGNMENT - 1) / SegmentKernels.ALIGNMENT * SegmentKernels.ALIGNMENT;
    }

    /** The elements of a filling, such that a full one is cut without a rest. */
    private long capacity(DType type) {
        long share = Math.min(gpu.capacity(type) / inside.size(), across.mostElements(type));
        return share / SegmentKernels.ALIGNMENT * SegmentKernels.ALIGNMENT * inside.size();
    }

    /** Every rank leaves. */
    void close() {
        across.close();
        inside.close();
    }

    /** Whatever the others do. */
    void abandon() {
        across.abandon();
        inside.abort();
    }
}
