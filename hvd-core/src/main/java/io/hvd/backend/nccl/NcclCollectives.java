package io.hvd.backend.nccl;

import io.hvd.backend.cuda.Conversion;
import io.hvd.backend.cuda.CudaEvent;
import io.hvd.backend.cuda.Segment;
import io.hvd.spi.Activities;
import io.hvd.spi.Collectives;
import io.hvd.spi.Pieces;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.IntConsumer;
import java.util.stream.Stream;

/**
 * Collectives between GPUs by NCCL. Large tensors that NCCL can reduce unchanged are reduced in place of their memory.
 * Small tensors, and those to be scaled or compressed, are packed onto a stage by one kernel and unpacked by
 * another. A call returns when its work is queued.
 */
final class NcclCollectives implements Collectives {
    /** Smaller tensors are packed, because a launch of NCCL costs as much as a copy of this many bytes. */
    private static final long DIRECT_BYTES = 1 << 20;

    private static final long LOOK_NANOS = 20_000;

    private final RankGpu gpu;
    private final NcclCommunicator nccl;
    /** The allreduce in two levels; null if allreduces use one communicator of all ranks. */
    private final HierarchicalAllreduce hierarchy;

    private final LaunchMeeting meeting;
    private final boolean asynchronous;
    private final DeviceTimes times;
    private Activities activities = Activities.UNHEARD;
    private Completion left;

    /**
     * @param hierarchy the allreduce in two levels; null if allreduces use one communicator of all ranks
     * @param meeting comes before every launch of NCCL's kernels
     * @param asynchronous whether an operation counts as done for the host as soon as it is queued; the streams wait
     *     for it
     */
    NcclCollectives(
            RankGpu gpu,
            NcclCommunicator nccl,
            HierarchicalAllreduce hierarchy,
            LaunchMeeting meeting,
            boolean asynchronous) {
        this.gpu = gpu;
        this.nccl = nccl;
        this.hierarchy = hierarchy;
        this.meeting = meeting;
        this.asynchronous = asynchronous;
        this.times = gpu.times();
    }

    /** Whether NCCL reduces the type that travels, and a kernel of hvd's can scale the result. */
    static boolean reduces(Reduction how) {
        return NcclCodes.reduces(how.wire()) && Conversion.multiplies(how.wire(), how.scale());
    }

    @Override
    public void report(Activities to) {
        activities = to;
        if (hierarchy != null) {
            hierarchy.report(to);
        }
    }

    @Override
    public Completion completion() {
        Completion completion = left;
        left = null;
        return completion;
    }

    @Override
    public void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        allreduce(inputs, outputs, how, isDirect(inputs, how));
    }

    /**
     * Takes part in an allreduce for a rank that has joined. It takes the way that the other ranks take, which depends
     * on their factor for the inputs; on the stage, the neutral elements are packed without it. Zeros, which are the
     * only ones that NCCL multiplies, stay zeros.
     */
    void allreduceNeutral(List<Tensor> neutral, Reduction how) {
        boolean direct = isDirect(neutral, how);
        allreduce(neutral, neutral, direct ? how : how.prescaled(), direct);
    }

    private void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how, boolean direct) {
        if (hierarchy != null) {
            queued("HIERARCHICAL_ALLREDUCE", tensors(inputs, outputs), () -> hierarchy.run(inputs, outputs, how));
        } else {
            queued("NCCL_ALLREDUCE", tensors(inputs, outputs), () -> {
                if (direct) {
                    allreduceDirectly(inputs, outputs, how);
                } else {
                    allreduceOverStage(inputs, outputs, how);
                }
            });
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

    @Override
    public void reduce(Tensor input, Tensor output, Reduction how, int root) {
        List<Tensor> inputs = List.of(input);
        queued(
                "NCCL_REDUCE",
                tensors(inputs, Arrays.asList(output)),
                () -> overStage(inputs, how, layout -> {
                    nccl.with(
                            how.op().arithmeticOn(how.wire()),
                            operator -> nccl.reduce(
                                    gpu.stage(0), gpu.stage(0), layout.elements(), how.wire(), operator, root));
                    times.markCollective();
                    if (nccl.rank() == root) {
                        unpack(layout, List.of(output), how);
                    }
                }));
    }

    /** Takes a slice of every rank's piece at a time. Pieces may differ in length, slices on the stage do not. */
    @Override
    public void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        queued("NCCL_REDUCESCATTER", tensors(List.of(input), List.of(output)), () -> {
            long share = Math.max(1, gpu.capacity(how.wire()) / nccl.size() / 16 * 16);
            long longest = Arrays.stream(elements).max().orElse(0);
            long[] starts = Pieces.oneBehindTheOther(elements).starts();
            for (long from = 0; from < longest; from += share) {
                scatterSlice(input, output, new Slice(from, Math.min(share, longest - from), starts, elements), how);
            }
        });
    }

    /** A part of every rank's piece, which begins at one place in all of them. */
    private record Slice(long from, long length, long[] starts, long[] elements) {
        long count(int rank) {
            return Math.max(0, Math.min(length, elements[rank] - from));
        }
    }

    private void scatterSlice(Tensor input, Tensor output, Slice slice, Reduction how) {
        DType type = input.dtype();
        List<Segment> in = Stream.iterate(0, rank -> rank + 1)
                .limit(nccl.size())
                .filter(rank -> slice.count(rank) > 0)
                .map(rank -> new Segment(
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
            Segment out = new Segment(gpu.stage(1), gpu.address(output) + slice.from() * type.bytes(), mine);
            gpu.convert(List.of(out), Conversion.scaled(how.wire(), type, how.scale()));
            times.mark(Activities.COPY_OUT);
        }
    }

    @Override
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        queued(
                "NCCL_BCAST",
                tensors(inputs, outputs),
                () -> nccl.grouped(() -> {
                    for (int i = 0; i < inputs.size(); i++) {
                        Tensor input = inputs.get(i);
                        if (input.elements() > 0) {
                            nccl.broadcast(gpu.address(input), gpu.address(outputs.get(i)), input.bytes(), root);
                        }
                    }
                }));
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        long width = output.dtype().bytes();
        queued("NCCL_ALLGATHER", tensors(List.of(input), List.of(output)), () -> {
            if (Arrays.stream(elements).allMatch(count -> count == elements[0])) {
                if (elements[0] > 0) {
                    nccl.allGather(gpu.address(input), gpu.address(output), elements[0] * width);
                }
                return;
            }
            long[] starts = Pieces.oneBehindTheOther(elements).starts();
            nccl.grouped(() -> {
                for (int from = 0; from < elements.length; from++) {
                    if (elements[from] > 0) {
                        long to = gpu.address(output) + starts[from] * width;
                        // NCCL reads the sender's address only; the other ranks may have no input.
                        long source = from == nccl.rank() ? gpu.address(input) : to;
                        nccl.broadcast(source, to, elements[from] * width, from);
                    }
                }
            });
        });
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        exchange("NCCL_ALLTOALL", input, output, sent, received);
    }

    @Override
    public void gather(Tensor input, Tensor output, long[] elements, int root) {
        long[] sent = new long[elements.length];
        sent[root] = elements[nccl.rank()];
        exchange("NCCL_GATHER", input, output, sent, nccl.rank() == root ? elements : new long[elements.length]);
    }

    @Override
    public void scatter(Tensor input, Tensor output, long[] elements, int root) {
        long[] received = new long[elements.length];
        received[root] = elements[nccl.rank()];
        exchange("NCCL_SCATTER", input, output, nccl.rank() == root ? elements : new long[elements.length], received);
    }

    /** Sends and receives pieces that lie one after the other in both tensors; a tensor without pieces may be null. */
    private void exchange(String activity, Tensor input, Tensor output, long[] sent, long[] received) {
        queued(activity, tensors(Arrays.asList(input), Arrays.asList(output)), () -> {
            int width = (input == null ? output : input).dtype().bytes();
            long[] from = Pieces.oneBehindTheOther(sent).starts();
            long[] to = Pieces.oneBehindTheOther(received).starts();
            nccl.grouped(() -> {
                for (int peer = 0; peer < sent.length; peer++) {
                    if (sent[peer] > 0) {
                        nccl.send(gpu.address(input) + from[peer] * width, sent[peer] * width, peer);
                    }
                    if (received[peer] > 0) {
                        nccl.receive(gpu.address(output) + to[peer] * width, received[peer] * width, peer);
                    }
                }
            });
        });
    }

    @Override
    public void send(Tensor tensor, int to) {
        queued(
                "NCCL_SEND",
                List.of(tensor),
                () -> meeting.beforeTransfer(to, true, 1),
                () -> nccl.send(gpu.address(tensor), tensor.bytes(), to));
    }

    @Override
    public void receive(Tensor tensor, int from) {
        queued(
                "NCCL_RECV",
                List.of(tensor),
                () -> meeting.beforeTransfer(from, false, 1),
                () -> nccl.receive(gpu.address(tensor), tensor.bytes(), from));
    }

    private void requireSound() {
        nccl.requireSound();
        if (hierarchy != null) {
            hierarchy.requireSound();
        }
    }

    /** Waits for the queued work first, because NCCL must not be closed while its work is under way. */
    @Override
    public void close() {
        gpu.enter();
        EventCompletion end = new EventCompletion(gpu.recordEvent(), this);
        while (!end.isDone()) {
            LockSupport.parkNanos(LOOK_NANOS);
        }
        if (hierarchy != null) {
            hierarchy.close();
        }
        nccl.close();
        meeting.close();
    }

    @Override
    public void abandon() {
        if (hierarchy != null) {
            hierarchy.abandon();
        }
        nccl.abort();
    }

    /**
     * Whether NCCL works on the tensors' own memory. All ranks come to the same answer, because they have the same
     * sizes and types.
     */
    private static boolean isDirect(List<Tensor> inputs, Reduction how) {
        boolean unscaled = how.prescale() == 1 && how.scale().isOne();
        boolean asItIs = inputs.get(0).dtype() == how.wire()
                && (unscaled || (how.op() == ReduceOp.SUM && how.wire().isFloating()));
        return asItIs && (inputs.size() == 1 || inputs.stream().allMatch(input -> input.bytes() >= DIRECT_BYTES));
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

    private void queued(String activity, Collection<Tensor> tensors, Runnable body) {
        queued(activity, tensors, () -> meeting.beforeCollective(tensors.size()), body);
    }

    private void queued(String activity, Collection<Tensor> tensors, Runnable meet, Runnable body) {
        long begun = activities.begin();
        gpu.begin(tensors);
        meet.run();
        times.begin(activity, activities.later());
        body.run();
        times.end();
        gpu.end(tensors);
        if (begun != 0) {
            activities.end("ENQUEUE_" + activity, begun);
        }
        left = asynchronous ? null : new EventCompletion(gpu.recordEvent(), this);
    }

    /** Done when the GPU has reached the event. */
    private record EventCompletion(CudaEvent event, NcclCollectives owner) implements Completion {
        @Override
        public boolean isDone() {
            boolean done = event.isReached();
            owner.times.look();
            if (done) {
                event.close();
            } else {
                owner.requireSound();
            }
            return done;
        }
    }

    private static Set<Tensor> tensors(List<Tensor> inputs, List<Tensor> outputs) {
        Set<Tensor> all = new LinkedHashSet<>(inputs);
        all.addAll(outputs);
        all.removeIf(Objects::isNull);
        return all;
    }
}
