package io.hvd.transport.nccl;

import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.config.GpuSettings;
import io.hvd.cuda.Conversion;
import io.hvd.cuda.CudaDevice;
import io.hvd.cuda.CudaEvent;
import io.hvd.cuda.CudaStream;
import io.hvd.cuda.DeviceSegment;
import io.hvd.cuda.DeviceStage;
import io.hvd.cuda.PinnedStage;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.kernel.Converter;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.LongStream;

/**
 * One of this rank's GPUs as collectives use it: one stream on which all of them are queued, two stages, and
 * memory for results.
 *
 * <p>When an operation is carried out, its work on the device waits for the work that is queued on the tensors' streams
 * at that moment, and later work on these streams waits for the operation. Only the communication thread uses this
 * class.
 */
final class RankGpu implements AutoCloseable {
    /** The size of a piece: large enough for the host's network, and small compared with a fused operation. */
    private static final int PIECE_BYTES = 4 << 20;

    private final CudaDevice cuda;
    private final Device device;
    private final int stageBytes;
    private final CudaStream stream;
    private final ResultMemory results;
    private final DeviceTimes times;
    /** The stages, which are made when they are needed. */
    private final List<DeviceStage> stages = new ArrayList<>();

    private final List<PinnedStage> pinned = new ArrayList<>();
    private boolean closed;

    /**
     * @param settings hold the sizes of a stage, on the device and on the host, and of the memory that is kept for
     *     results
     * @param afterAllWork records an event after all work that the GPU's context has; null if that is not possible
     */
    RankGpu(CudaDevice cuda, Device device, GpuSettings settings, CudaDevice.Recorder afterAllWork) {
        this.cuda = cuda;
        this.device = device;
        this.stageBytes = settings.stageBytes();
        this.stream = cuda.createStream();
        this.results = new ResultMemory(cuda, device, afterAllWork, settings.resultBytes());
        this.times = new DeviceTimes(stream, device);
    }

    Device device() {
        return device;
    }

    /** Makes this GPU the calling thread's current one; a rank may have several GPUs. */
    void enter() {
        cuda.enter();
    }

    /** The handle of the stream. */
    long stream() {
        return stream.handle();
    }

    /** The number of elements that a stage holds; a whole number of vectors. */
    long capacity(DType type) {
        return stageBytes / type.bytes() / 16 * 16;
    }

    /** The number of elements that go through the host at a time, while the next piece is copied to the host. */
    long piece(DType type) {
        return Math.min(stageBytes, PIECE_BYTES) / type.bytes() / 16 * 16;
    }

    /** The address of a stage. @param number 0 or 1 */
    long stage(int number) {
        while (stages.size() <= number) {
            DeviceStage stage = cuda.allocate(Owner.GPU_BATCHES, stageBytes);
            stage.clear(stream());
            stages.add(stage);
        }
        return stages.get(number).address();
    }

    /** A stage on the host, as large as one on the device. @param number 0 or 1 */
    PinnedStage pinned(int number) {
        while (pinned.size() <= number) {
            pinned.add(cuda.allocatePinned(Owner.GPU_BATCHES, stageBytes));
        }
        return pinned.get(number);
    }

    /** Allocates what operations need, so that none of it is allocated when they are queued. @param segments the most segments of one operation */
    void reserve(int segments) {
        enter();
        stage(0);
        stage(1);
        cuda.kernels().reserve(segments);
    }

    int stageBytes() {
        return stageBytes;
    }

    /** Makes a tensor in hvd's own memory, which is used again when the tensor has been garbage-collected. */
    Tensor output(DType type, Shape shape) {
        enter();
        return results.tensor(type, shape);
    }

    /**
     * Makes a tensor as {@link #output} does, and queues work that sets all its elements to one value. It waits for nothing.
     *
     * @param element a tensor of one element in the host's memory
     */
    Tensor filled(Tensor element, Shape shape) {
        Tensor filled = output(element.dtype(), shape);
        if (filled.elements() > 0) {
            int width = element.dtype().bytes();
            ByteBuffer bits = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            new Converter().pack(element, 0, 1, bits, 0, element.dtype(), 1.0);
            cuda.fill(address(filled), bits.getLong(0), width, filled.elements(), stream());
        }
        return filled;
    }

    /** Counts what has happened to the memory of results so far. */
    BlockPool.Counts results() {
        return results.counts();
    }

    /** The address of a tensor's first element. */
    long address(Tensor tensor) {
        return memory(tensor).address();
    }

    private DeviceMemory memory(Tensor tensor) {
        if (tensor.memory() instanceof DeviceMemory memory && memory.device().equals(device)) {
            return memory;
        }
        throw new HvdException(ErrorId.BAD_ARGUMENT, tensor + " was handed over, but this rank's GPU is " + device);
    }

    /** Work that hvd queues from now on starts after the work that is now queued on these tensors' streams. */
    void begin(Collection<Tensor> tensors) {
        enter();
        results.collect();
        for (long user : streams(tensors)) {
            stream.follow(user);
        }
    }

    /** Work that the user queues on these tensors' streams from now on starts after the work that hvd has queued. */
    void end(Collection<Tensor> tensors) {
        for (long user : streams(tensors)) {
            stream.holdBack(user);
        }
    }

    private long[] streams(Collection<Tensor> tensors) {
        return tensors.stream()
                .flatMapToLong(tensor -> LongStream.of(memory(tensor).stream()))
                .distinct()
                .toArray();
    }

    /** An event after all work that is queued now. */
    CudaEvent recordEvent() {
        return stream.recordEvent();
    }

    /** The times of the work on the stream. */
    DeviceTimes times() {
        return times;
    }

    /** Queues the packing of these tensors' parts onto a stage, converted to the type that travels. */
    void pack(StageLayout layout, List<Tensor> tensors, Reduction how, long stage) {
        DType type = tensors.get(0).dtype();
        convert(
                layout.parts().stream()
                        .map(part -> new DeviceSegment(
                                place(part, tensors, type),
                                stage + part.at() * how.wire().bytes(),
                                part.count()))
                        .toList(),
                new Conversion(type, how.wire(), how.prescale()));
    }

    /** Queues the unpacking from a stage into these tensors. */
    void unpack(StageLayout layout, List<Tensor> tensors, Reduction how, long stage) {
        DType type = tensors.get(0).dtype();
        convert(
                layout.parts().stream()
                        .map(part -> new DeviceSegment(
                                stage + part.at() * how.wire().bytes(), place(part, tensors, type), part.count()))
                        .toList(),
                Conversion.scaled(how.wire(), type, how.scale()));
    }

    private long place(StageLayout.Part part, List<Tensor> tensors, DType type) {
        return address(tensors.get(part.tensor())) + part.first() * type.bytes();
    }

    /** Queues copies of segments, which are scaled and converted. */
    void convert(List<DeviceSegment> segments, Conversion conversion) {
        cuda.kernels().convert(segments, conversion, stream());
    }

    /** Waits for the work that is queued, then frees everything. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        enter();
        stream.await();
        times.close();
        results.close();
        stages.forEach(DeviceStage::close);
        pinned.forEach(PinnedStage::close);
        stream.close();
        cuda.close();
    }
}
