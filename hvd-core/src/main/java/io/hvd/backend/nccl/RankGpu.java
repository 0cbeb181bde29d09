package io.hvd.backend.nccl;

import io.hvd.backend.cuda.Conversion;
import io.hvd.backend.cuda.CudaDevice;
import io.hvd.backend.cuda.CudaMark;
import io.hvd.backend.cuda.CudaStream;
import io.hvd.backend.cuda.DeviceStage;
import io.hvd.backend.cuda.PinnedStage;
import io.hvd.backend.cuda.Segment;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.DeviceMemory;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.lang.ref.Cleaner;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;

/**
 * This rank's GPU as collectives use it: one stream on which all of them are queued, two stages, and
 * memory for results.
 *
 * <p>Work starts on the device behind what the user had queued on the tensors' streams when the
 * operation is carried out, and these streams go on behind it. Used on the communication thread only.
 */
final class RankGpu implements AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();
    private static final long DEFAULT_STREAM = 0;
    /** Before memory is taken to be really used up. */
    private static final int MOST_COLLECTIONS = 5;

    /** Long enough for the host's network, and short against what is fused into one operation. */
    private static final int PIECE_BYTES = 4 << 20;

    private static final long CLEANING_NANOS = 10_000_000;

    private final CudaDevice cuda;
    private final Device device;
    private final int stageBytes;
    private final CudaStream stream;
    /** Results that nobody can reach any more. */
    private final Queue<DeviceStage> garbage = new ConcurrentLinkedQueue<>();
    /** Made when they are needed. */
    private final List<DeviceStage> stages = new ArrayList<>();

    private final List<PinnedStage> pinned = new ArrayList<>();
    private boolean closed;

    /** @param stageBytes bytes of a stage on the device, and of one on the host */
    RankGpu(CudaDevice cuda, Device device, int stageBytes) {
        this.cuda = cuda;
        this.device = device;
        this.stageBytes = stageBytes;
        this.stream = cuda.createStream();
    }

    Device device() {
        return device;
    }

    /** Makes this GPU the one that the thread works with; a rank may have several. */
    void enter() {
        cuda.enter();
    }

    /** Handle of the stream. */
    long stream() {
        return stream.handle();
    }

    /** Elements that a stage holds, a whole number of vectors. */
    long capacity(DType type) {
        return stageBytes / type.bytes() / 16 * 16;
    }

    /** Elements that go through the host at a time, while the piece behind them is on its way there. */
    long piece(DType type) {
        return Math.min(stageBytes, PIECE_BYTES) / type.bytes() / 16 * 16;
    }

    /** Address of a stage. @param number 0 or 1 */
    long stage(int number) {
        while (stages.size() <= number) {
            DeviceStage stage = cuda.allocate(stageBytes);
            stage.clear(stream());
            stages.add(stage);
        }
        return stages.get(number).address();
    }

    /** A stage on the host, as large as one on the device. @param number 0 or 1 */
    PinnedStage pinned(int number) {
        while (pinned.size() <= number) {
            pinned.add(cuda.allocatePinned(stageBytes));
        }
        return pinned.get(number);
    }

    int stageBytes() {
        return stageBytes;
    }

    /** A tensor of hvd's own, whose memory lasts as long as somebody holds it. */
    Tensor output(DType type, Shape shape) {
        long bytes = Math.multiplyExact(shape.elements(), (long) type.bytes());
        if (bytes == 0) {
            return Tensor.onDevice(0, device, DEFAULT_STREAM, type, shape);
        }
        enter();
        DeviceStage memory = allocate(bytes);
        Object owner = new Object();
        CLEANER.register(owner, () -> garbage.add(memory));
        return Tensor.onDevice(memory.address(), device, DEFAULT_STREAM, type, shape)
                .keeping(owner);
    }

    /** Results hold little of Java's heap, so that a full GPU is the first to notice that nobody reaches them any more. */
    private DeviceStage allocate(long bytes) {
        for (int collections = 0; ; collections++) {
            try {
                return cuda.allocate(bytes);
            } catch (HvdException full) {
                if (collections == MOST_COLLECTIONS) {
                    throw full;
                }
                System.gc();
                LockSupport.parkNanos(CLEANING_NANOS);
                freeGarbage();
            }
        }
    }

    private void freeGarbage() {
        for (DeviceStage gone = garbage.poll(); gone != null; gone = garbage.poll()) {
            gone.close();
        }
    }

    /** Address of a tensor's first element. */
    long address(Tensor tensor) {
        return memory(tensor).address();
    }

    private DeviceMemory memory(Tensor tensor) {
        if (tensor.memory() instanceof DeviceMemory memory && memory.device().equals(device)) {
            return memory;
        }
        throw new HvdException(ErrorId.BAD_ARGUMENT, tensor + " was handed over, but this rank's GPU is " + device);
    }

    /** What is queued from now on starts behind the work on these tensors. */
    void begin(Collection<Tensor> tensors) {
        enter();
        freeGarbage();
        for (long user : streams(tensors)) {
            stream.follow(user);
        }
    }

    /** Work that the user queues on these tensors' streams from now on starts behind what is queued now. */
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

    /** A mark behind all that is queued now. */
    CudaMark mark() {
        return stream.mark();
    }

    /** Queues what brings a filling of these tensors onto a stage, as the type that travels. */
    void pack(Filling filling, List<Tensor> tensors, Reduction how, long stage) {
        DType type = tensors.get(0).dtype();
        convert(
                filling.parts().stream()
                        .map(part -> new Segment(
                                place(part, tensors, type),
                                stage + part.at() * how.wire().bytes(),
                                part.count()))
                        .toList(),
                new Conversion(type, how.wire(), how.prescale()));
    }

    /** The way back. */
    void unpack(Filling filling, List<Tensor> tensors, Reduction how, long stage) {
        DType type = tensors.get(0).dtype();
        convert(
                filling.parts().stream()
                        .map(part -> new Segment(
                                stage + part.at() * how.wire().bytes(), place(part, tensors, type), part.count()))
                        .toList(),
                Conversion.scaled(how.wire(), type, how.scale()));
    }

    private long place(Filling.Part part, List<Tensor> tensors, DType type) {
        return address(tensors.get(part.tensor())) + part.first() * type.bytes();
    }

    /** Queues copies, scaled and converted. */
    void convert(List<Segment> segments, Conversion conversion) {
        cuda.kernels().convert(segments, conversion, stream());
    }

    /** The device finishes what is queued first. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        enter();
        stream.await();
        garbage.forEach(DeviceStage::close);
        stages.forEach(DeviceStage::close);
        pinned.forEach(PinnedStage::close);
        stream.close();
        cuda.close();
    }
}
