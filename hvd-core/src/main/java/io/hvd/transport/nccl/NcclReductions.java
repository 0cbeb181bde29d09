package io.hvd.transport.nccl;

import io.hvd.cuda.Conversion;
import io.hvd.cuda.DeviceSegment;
import io.hvd.spi.Activities;
import io.hvd.spi.Pieces;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import io.hvd.transport.nccl.natives.NcclCommunicator;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import java.util.stream.Stream;

/**
 * Queues reductions on the rank's stream. Large tensors that NCCL can reduce unchanged are reduced in place of
 * their memory. Small tensors, and those to be scaled or compressed, are packed onto a stage by one kernel and unpacked
 * by another.
 */
final class NcclReductions {
    /** Smaller tensors are packed, because a launch of NCCL costs as much as a copy of this many bytes. */
    private static final long DIRECT_BYTES = 1 << 20;

    private final RankGpu gpu;
    private final NcclCommunicator nccl;
    private final DeviceTimes times;

    NcclReductions(RankGpu gpu, NcclCommunicator nccl) {
        this.gpu = gpu;
        this.nccl = nccl;
        this.times = gpu.times();
    }

    /**
     * True if NCCL works on the tensors' own memory. All ranks come to the same answer, because they have the same
     * sizes and types.
     */
    static boolean isDirect(List<Tensor> inputs, Reduction how) {
        boolean unscaled = how.prescale() == 1 && how.scale().isOne();
        boolean asItIs = inputs.get(0).dtype() == how.wire()
                && (unscaled || (how.op() == ReduceOp.SUM && how.wire().isFloating()));
        return asItIs && (inputs.size() == 1 || inputs.stream().allMatch(input -> input.bytes() >= DIRECT_BYTES));
    }

    /** @param direct true if NCCL works on the tensors' own memory, false if they are packed onto the stage */
    void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how, boolean direct) {
        if (direct) {
            allreduceDirectly(inputs, outputs, how);
        } else {
            allreduceOverStage(inputs, outputs, how);
        }
    }

    private void allreduceDirectly(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        reduceDirectly(
                inputs.get(0).dtype(),
                how,
                operator -> nccl.grouped(() -> {
                    for (int i = 0; i < inputs.size(); i++) {
                        Tensor input = inputs.get(i);
                        if (input.elements() > 0) {
                            long to = gpu.address(outputs.get(i));
                            nccl.allReduce(gpu.address(input), to, input.elements(), how.wire(), operator);
                        }
                    }
                }));
    }

    private void allreduceOverStage(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        overStage(inputs, how, layout -> {
            nccl.with(
                    how.op().arithmeticOn(how.wire()),
                    operator -> nccl.allReduce(gpu.stage(0), gpu.stage(0), layout.elements(), how.wire(), operator));
            times.markCollective();
            unpack(layout, outputs, how);
        });
    }

    /** @param output null on the ranks other than the root */
    void reduce(Tensor input, Tensor output, Reduction how, int root) {
        overStage(List.of(input), how, layout -> {
            nccl.with(
                    how.op().arithmeticOn(how.wire()),
                    operator -> nccl.reduce(gpu.stage(0), gpu.stage(0), layout.elements(), how.wire(), operator, root));
            times.markCollective();
            if (nccl.rank() == root) {
                unpack(layout, List.of(output), how);
            }
        });
    }

    /** Takes a slice of every rank's piece at a time. Pieces may differ in length, slices on the stage do not. */
    void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        long share = Math.max(1, gpu.capacity(how.wire()) / nccl.size() / 16 * 16);
        long longest = Arrays.stream(elements).max().orElse(0);
        long[] starts = Pieces.oneBehindTheOther(elements).starts();
        for (long from = 0; from < longest; from += share) {
            scatterSlice(input, output, new Slice(from, Math.min(share, longest - from), starts, elements), how);
        }
    }

    /** A part of every rank's piece, which begins at one place in all of them. */
    private record Slice(long from, long length, long[] starts, long[] elements) {
        long count(int rank) {
            return Math.max(0, Math.min(length, elements[rank] - from));
        }
    }

    private void scatterSlice(Tensor input, Tensor output, Slice slice, Reduction how) {
        DType type = input.dtype();
        List<DeviceSegment> in = Stream.iterate(0, rank -> rank + 1)
                .limit(nccl.size())
                .filter(rank -> slice.count(rank) > 0)
                .map(rank -> new DeviceSegment(
                        gpu.address(input) + (slice.starts()[rank] + slice.from()) * type.bytes(),
                        gpu.stage(0) + rank * slice.length() * how.wire().bytes(),
                        slice.count(rank)))
                .toList();
        gpu.convert(in, new Conversion(type, how.wire(), how.prescale()));
        times.mark(Activities.COPY_IN);
        nccl.with(
                how.op().arithmeticOn(how.wire()),
                operator -> nccl.reduceScatter(gpu.stage(0), gpu.stage(1), slice.length(), how.wire(), operator));
        times.markCollective();
        long mine = slice.count(nccl.rank());
        if (mine > 0) {
            DeviceSegment out =
                    new DeviceSegment(gpu.stage(1), gpu.address(output) + slice.from() * type.bytes(), mine);
            gpu.convert(List.of(out), Conversion.scaled(how.wire(), type, how.scale()));
            times.mark(Activities.COPY_OUT);
        }
    }

    /** Lets NCCL scale, which multiplies before it adds, in the type that travels. */
    private void reduceDirectly(DType type, Reduction how, IntConsumer body) {
        double factor = how.prescale() * how.scale().asFactor();
        if (factor == 1) {
            nccl.with(how.op().arithmeticOn(how.wire()), body);
        } else {
            nccl.withScaledSum(factor, type, body);
        }
    }

    private void overStage(List<Tensor> inputs, Reduction how, Consumer<StageLayout> body) {
        long[] sizes = inputs.stream().mapToLong(Tensor::elements).toArray();
        for (StageLayout layout : StageLayout.of(sizes, gpu.capacity(how.wire()))) {
            gpu.pack(layout, inputs, how, gpu.stage(0));
            times.mark(Activities.COPY_IN);
            body.accept(layout);
        }
    }

    private void unpack(StageLayout layout, List<Tensor> outputs, Reduction how) {
        gpu.unpack(layout, outputs, how, gpu.stage(0));
        times.mark(Activities.COPY_OUT);
    }
}
