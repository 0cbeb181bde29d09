package io.hvd.transport.nccl;

import io.hvd.cuda.CudaEvent;
import io.hvd.cuda.PinnedStage;
import io.hvd.kernel.Converter;
import io.hvd.kernel.Scale;
import io.hvd.spi.Activities;
import io.hvd.spi.Collectives;
import io.hvd.spi.Reduction;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * Collectives between GPUs without NCCL: the tensors go through pinned host memory and the host's data plane.
 * An allreduce packs, converts and scales on the GPU, and copies a piece to the host while the
 * ranks reduce the piece before. Sums of integers are scaled on the host, which divides exactly. The other operations
 * copy a whole tensor, one stage after the other.
 */
final class StagedCollectives implements Collectives {
    private final RankGpu gpu;
    private final Collectives host;
    private final Converter converter = new Converter();
    private Activities activities = Activities.UNHEARD;

    StagedCollectives(RankGpu gpu, Collectives host) {
        this.gpu = gpu;
        this.host = host;
    }

    @Override
    public void report(Activities to) {
        activities = to;
    }

    @Override
    public void allreduce(List<Tensor> inputs, List<Tensor> outputs, Reduction how) {
        long[] sizes = inputs.stream().mapToLong(Tensor::elements).toArray();
        List<StageLayout> layouts = StageLayout.of(sizes, gpu.piece(how.wire()));
        gpu.begin(inputs);
        gpu.begin(outputs);
        Loaded previous = null;
        for (int i = 0; i < layouts.size(); i++) {
            Loaded next = load(layouts.get(i), inputs, how, i % 2);
            if (previous != null) {
                reduce(previous, outputs, how);
            }
            previous = next;
        }
        if (previous != null) {
            reduce(previous, outputs, how);
        }
        finish(outputs);
    }

    /** A packed stage that is being copied to the host. */
    private record Loaded(StageLayout layout, int slot, CudaEvent arrived) {}

    private Loaded load(StageLayout layout, List<Tensor> inputs, Reduction how, int slot) {
        gpu.pack(layout, inputs, how, gpu.stage(slot));
        int bytes = Math.toIntExact(layout.elements() * how.wire().bytes());
        gpu.pinned(slot).copyFromDevice(gpu.stage(slot), 0, bytes, gpu.stream());
        return new Loaded(layout, slot, gpu.recordEvent());
    }

    private void reduce(Loaded loaded, List<Tensor> outputs, Reduction how) {
        await(loaded.arrived());
        PinnedStage pinned = gpu.pinned(loaded.slot());
        long elements = loaded.layout().elements();
        int bytes = Math.toIntExact(elements * how.wire().bytes());
        Tensor stage = Tensor.wrap(
                pinned.buffer().duplicate().order(ByteOrder.nativeOrder()).limit(bytes),
                how.wire(),
                Shape.of(elements));
        boolean scaledHere = !how.wire().isFloating();
        host.allreduce(List.of(stage), List.of(stage), scaledHere ? how.prescaled() : how.unscaled());
        pinned.copyToDevice(0, gpu.stage(loaded.slot()), bytes, gpu.stream());
        gpu.unpack(loaded.layout(), outputs, scaledHere ? how.unscaled() : how, gpu.stage(loaded.slot()));
    }

    @Override
    public void broadcast(List<Tensor> inputs, List<Tensor> outputs, int root) {
        List<Tensor> onHost = download(inputs);
        host.broadcast(onHost, onHost, root);
        upload(onHost, outputs);
    }

    @Override
    public void allgather(Tensor input, Tensor output, long[] elements) {
        Tensor result = hostLike(output);
        host.allgather(download(input), result, elements);
        upload(result, output);
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[] sent, long[] received, long longest) {
        Tensor result = hostLike(output);
        host.alltoall(download(input), result, sent, received, longest);
        upload(result, output);
    }

    @Override
    public void reduceScatter(Tensor input, Tensor output, long[] elements, Reduction how) {
        Tensor result = hostLike(output);
        host.reduceScatter(download(input), result, elements, how);
        upload(result, output);
    }

    @Override
    public void reduce(Tensor input, Tensor output, Reduction how, int root) {
        Tensor result = hostLike(output);
        host.reduce(download(input), result, how, root);
        upload(result, output);
    }

    @Override
    public void gather(Tensor input, Tensor output, long[] elements, int root) {
        Tensor result = hostLike(output);
        host.gather(download(input), result, elements, root);
        upload(result, output);
    }

    @Override
    public void scatter(Tensor input, Tensor output, long[] elements, int root) {
        Tensor result = hostLike(output);
        host.scatter(input == null ? null : download(input), result, elements, root);
        upload(result, output);
    }

    @Override
    public void send(Tensor tensor, int to) {
        host.send(download(tensor), to);
    }

    @Override
    public void receive(Tensor tensor, int from) {
        Tensor received = hostLike(tensor);
        host.receive(received, from);
        upload(received, tensor);
    }

    private static Tensor hostLike(Tensor tensor) {
        return tensor == null ? null : Tensor.zeros(tensor.dtype(), tensor.shape());
    }

    private List<Tensor> download(List<Tensor> tensors) {
        List<Tensor> onHost = new ArrayList<>();
        tensors.forEach(tensor -> onHost.add(download(tensor)));
        return onHost;
    }

    private Tensor download(Tensor tensor) {
        Tensor onHost = hostLike(tensor);
        gpu.begin(List.of(tensor));
        inPieces(tensor, (first, count, bytes) -> {
            gpu.pinned(0)
                    .copyFromDevice(gpu.address(tensor) + first * tensor.dtype().bytes(), 0, bytes, gpu.stream());
            await(gpu.recordEvent());
            converter.unpack(gpu.pinned(0).buffer(), 0, tensor.dtype(), onHost, first, count, Scale.ONE);
        });
        return onHost;
    }

    private void upload(List<Tensor> onHost, List<Tensor> tensors) {
        for (int i = 0; i < tensors.size(); i++) {
            upload(onHost.get(i), tensors.get(i));
        }
    }

    private void upload(Tensor onHost, Tensor tensor) {
        if (tensor == null) {
            return;
        }
        gpu.begin(List.of(tensor));
        inPieces(tensor, (first, count, bytes) -> {
            converter.pack(onHost, first, count, gpu.pinned(0).buffer(), 0, tensor.dtype(), 1.0);
            gpu.pinned(0)
                    .copyToDevice(
                            0, gpu.address(tensor) + first * tensor.dtype().bytes(), bytes, gpu.stream());
            await(gpu.recordEvent());
        });
        finish(List.of(tensor));
    }

    private void inPieces(Tensor tensor, Piece piece) {
        long most = gpu.capacity(tensor.dtype());
        for (long first = 0; first < tensor.elements(); first += most) {
            int count = (int) Math.min(most, tensor.elements() - first);
            piece.copy(first, count, count * tensor.dtype().bytes());
        }
    }

    private interface Piece {
        void copy(long first, int count, int bytes);
    }

    /** Waits until the pinned stages are free and the tensors can be read. */
    private void finish(List<Tensor> tensors) {
        gpu.end(tensors);
        await(gpu.recordEvent());
    }

    private void await(CudaEvent event) {
        long begun = activities.begin();
        event.await();
        event.close();
        activities.end("WAIT_FOR_DATA", begun);
    }

    @Override
    public Completion completion() {
        return null; // the operation has waited for the device
    }

    @Override
    public void abandon() {
        // The owner of the host's collectives abandons them.
    }

    @Override
    public void close() {
        // The stages belong to RankGpu, and the host's collectives to their own owner.
    }
}
