package io.hvd.transport.nccl;

import io.hvd.cuda.SegmentKernels;
import io.hvd.spi.Activities;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import io.hvd.transport.nccl.natives.NcclCommunicator;
import java.util.List;

/**
 * Allreduce between GPUs of several nodes in three steps, as in Horovod: a reducescatter leaves one chunk of the node's
 * result on every rank of a node, each rank reduces its chunk with the other nodes, and an allgather puts the chunks
 * together. Two nodes exchange as many bytes as one node has, over as many links as a node has ranks. While one stage
 * is reduced between the nodes, the next one is prepared.
 */
final class HierarchicalAllreduce implements DeviceAllreduce {
    private final RankGpu gpu;
    private final NcclCommunicator inside;
    private final InterNodeAllreduce across;

    HierarchicalAllreduce(RankGpu gpu, NcclCommunicator inside, InterNodeAllreduce across) {
        this.gpu = gpu;
        this.inside = inside;
        this.across = across;
    }

    /** True if a stage can be divided into a chunk for each rank of a node. */
    static boolean fits(RankGpu gpu, int ranksOfNode) {
        return gpu.capacity(DType.FLOAT64) >= (long) SegmentKernels.ALIGNMENT * ranksOfNode;
    }

    @Override
    public String activity() {
        return "HIERARCHICAL_ALLREDUCE";
    }

    @Override
    public void report(Activities to) {
        across.report(to);
    }

    @Override
    public void requireSound() {
        inside.requireSound();
        across.requireSound();
    }

    /** All tensors go over the stages, whose chunks the ranks of a node share. */
    @Override
    public void run(List<Tensor> inputs, List<Tensor> outputs, Reduction how, boolean direct) {
        long[] sizes = inputs.stream().mapToLong(Tensor::elements).toArray();
        List<StageLayout> layouts = StageLayout.of(sizes, capacity(how.wire()));
        Scattered before = null;
        for (int i = 0; i < layouts.size(); i++) {
            Scattered next = reduceScatter(layouts.get(i), inputs, how, i % 2);
            gather(before, outputs, how);
            before = next;
        }
        gather(before, outputs, how);
    }

    /** A packed stage of which every rank of the node has one reduced chunk. */
    private record Scattered(StageLayout layout, InterNodeAllreduce.Chunk chunk) {}

    private Scattered reduceScatter(StageLayout layout, List<Tensor> inputs, Reduction how, int slot) {
        long stage = gpu.stage(slot);
        gpu.pack(layout, inputs, how, stage);
        long each = chunkOf(layout.elements());
        long mine = stage + inside.rank() * each * how.wire().bytes();
        inside.with(
                how.op().arithmeticOn(how.wire()),
                operator -> inside.reduceScatter(stage, mine, each, how.wire(), operator));
        InterNodeAllreduce.Chunk chunk = new InterNodeAllreduce.Chunk(mine, each, slot);
        across.prepare(chunk, how);
        return new Scattered(layout, chunk);
    }

    private void gather(Scattered scattered, List<Tensor> outputs, Reduction how) {
        if (scattered == null) {
            return;
        }
        across.reduce(scattered.chunk(), how);
        long stage = gpu.stage(scattered.chunk().slot());
        inside.allGather(scattered.chunk().address(), stage, scattered.chunk().bytes(how));
        gpu.unpack(scattered.layout(), outputs, how, stage);
    }

    /** The elements of a chunk. The space after the last element is reduced too, but not read. */
    private long chunkOf(long elements) {
        return up((elements + inside.size() - 1) / inside.size());
    }

    private static long up(long elements) {
        return (elements + SegmentKernels.ALIGNMENT - 1) / SegmentKernels.ALIGNMENT * SegmentKernels.ALIGNMENT;
    }

    /** The most elements of a layout; a full stage divides into chunks without a remainder. */
    private long capacity(DType type) {
        long share = Math.min(gpu.capacity(type) / inside.size(), across.mostElements(type));
        return share / SegmentKernels.ALIGNMENT * SegmentKernels.ALIGNMENT * inside.size();
    }

    @Override
    public void close() {
        across.close();
        inside.close();
    }

    @Override
    public void abandon() {
        across.abandon();
        inside.abort();
    }
}
