package io.hvd.transport.nccl;

import io.hvd.cuda.Conversion;
import io.hvd.cuda.CudaEvent;
import io.hvd.spi.Activities;
import io.hvd.spi.Collectives;
import io.hvd.spi.Pieces;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Tensor;
import io.hvd.transport.nccl.natives.NcclCodes;
import io.hvd.transport.nccl.natives.NcclCommunicator;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/** Collectives between GPUs by NCCL. A call returns when its work is queued. */
final class NcclCollectives implements Collectives {
    private static final long LOOK_NANOS = 20_000;

    private final RankGpu gpu;
    private final NcclCommunicator nccl;
    private final NcclReductions reductions;
    private final DeviceAllreduce allreduce;
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
        this.reductions = new NcclReductions(gpu, nccl);
        this.allreduce = hierarchy == null ? new DeviceAllreduce.Flat(reductions) : hierarchy;
        this.meeting = meeting;
        this.asynchronous = asynchronous;
        this.times = gpu.times();
    }

    /** True if NCCL reduces the type that travels, and a kernel of hvd's can scale the result. */
    static boolean reduces(Reduction how) {
        return NcclCodes.reduces(how.wire()) && Conversion.multiplies(how.wire(), how.scale());
    }

    @Override
    public void report(Activities to) {
        activities = to;
        allreduce.report(to);
    }

    @Override
    public Completion completion() {
        Completion completion = left;
        left = null;
        return completion;
    }

    @Override
    public void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        allreduce(inputs, outputs, how, NcclReductions.isDirect(inputs, how));
    }

    /**
     * Takes part in an allreduce for a rank that has joined. It takes the way that the other ranks take, which depends
     * on their factor for the inputs; on the stage, the neutral elements are packed without it. Zeros, which are the
     * only ones that NCCL multiplies, stay zeros.
     */
    void allreduceNeutral(List<Tensor> neutral, Reduction how) {
        boolean direct = NcclReductions.isDirect(neutral, how);
        allreduce(neutral, neutral, direct ? how : how.prescaled(), direct);
    }

    private void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how, boolean direct) {
        queued(allreduce.activity(), tensors(inputs, outputs), () -> allreduce.run(inputs, outputs, how, direct));
    }

    @Override
    public void reduce(Tensor input, Tensor output, Reduction how, int root) {
        queued(
                "NCCL_REDUCE",
                tensors(List.of(input), Arrays.asList(output)),
                () -> reductions.reduce(input, output, how, root));
    }

    @Override
    public void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        queued(
                "NCCL_REDUCESCATTER",
                tensors(List.of(input), List.of(output)),
                () -> reductions.reduceScatter(input, output, elements, how));
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
        allreduce.requireSound();
    }

    /** Waits for the queued work first, because NCCL must not be closed while its work is under way. */
    @Override
    public void close() {
        gpu.enter();
        EventCompletion end = new EventCompletion(gpu.recordEvent(), this);
        while (!end.isDone()) {
            LockSupport.parkNanos(LOOK_NANOS);
        }
        allreduce.close();
        nccl.close();
        meeting.close();
    }

    @Override
    public void abandon() {
        allreduce.abandon();
        nccl.abort();
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
