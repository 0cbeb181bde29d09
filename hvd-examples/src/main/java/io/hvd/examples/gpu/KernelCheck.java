package io.hvd.examples.gpu;

import io.hvd.HvdContext;
import io.hvd.cuda.Conversion;
import io.hvd.cuda.CudaDevice;
import io.hvd.cuda.CudaStream;
import io.hvd.cuda.DeviceSegment;
import io.hvd.cuda.DeviceStage;
import io.hvd.cuda.PinnedStage;
import io.hvd.cuda.SegmentKernels;
import io.hvd.examples.gpu.CheckLine.Outcome;
import io.hvd.tensor.DType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * Check G4: one launch packs, scales and converts a hundred tensors from 4 bytes to 64 MiB to float16 and bfloat16, and
 * another one converts them back. The bits must be those of the CPU, and the flag must say whether an element is
 * infinite. The speed is compared with a copy from device to device that moves as many bytes.
 */
final class KernelCheck implements AutoCloseable {
    private static final int TENSORS = 100;
    private static final int REPEATS = 20;
    private static final double SCALE = 0.25;
    private static final List<DType> WIRES = List.of(DType.FLOAT16, DType.BFLOAT16);

    private final CudaDevice gpu;
    private final CudaStream stream;
    private final List<Integer> sizes = new ArrayList<>();
    private long elements;

    private KernelCheck(int device, Extent extent) {
        gpu = CudaDevice.open(device);
        stream = gpu.createStream();
        Random random = new Random(4);
        for (int i = 0; i < TENSORS; i++) {
            // Most tensors are small, like most gradients.
            int size = i == 0 ? extent.largestTensor() : 1 << random.nextInt(extent.smallTensorBits());
            sizes.add(size + (i % 3 == 2 ? random.nextInt(size) : 0));
            elements += aligned(sizes.get(i));
        }
    }

    static CheckLine check(HvdContext hvd, Extent extent) {
        try (KernelCheck check = new KernelCheck(hvd.device().index(), extent)) {
            return check.run();
        }
    }

    private static long aligned(long count) {
        return (count + SegmentKernels.ALIGNMENT - 1) / SegmentKernels.ALIGNMENT * SegmentKernels.ALIGNMENT;
    }

    private CheckLine run() {
        long bytes = 4 * elements;
        try (Memory memory = new Memory(
                gpu.allocate(bytes),
                gpu.allocate(bytes / 2),
                gpu.allocate(bytes),
                gpu.allocate(Integer.BYTES),
                gpu.allocatePinned((int) bytes))) {
            PinnedStage host = memory.host;
            fill(host.buffer());
            host.copyToDevice(0, memory.floats.address(), (int) bytes, stream.handle());
            stream.await();
            KernelBits bits = new KernelBits(copy(host.buffer(), (int) bytes), runs());
            List<String> wrong = new ArrayList<>();
            WIRES.forEach(wire -> wrong.addAll(differences(wire, memory, bits)));
            return line(wrong, speeds(memory));
        }
    }

    /**
     * The GPU memory of the tensors, of the packed and of the unpacked data and of the flag; host memory for all
     * copies.
     */
    private record Memory(DeviceStage floats, DeviceStage halves, DeviceStage back, DeviceStage flag, PinnedStage host)
            implements AutoCloseable {
        @Override
        public void close() {
            List.of(floats, halves, back, flag).forEach(DeviceStage::close);
            host.close();
        }
    }

    private List<String> differences(DType wire, Memory memory, KernelBits bits) {
        List<String> wrong = new ArrayList<>();
        gpu.kernels().convert(in(memory), narrow(wire), stream.handle());
        ByteBuffer packed = read(memory.halves, memory.host);
        note(wrong, bits.wrongNarrowed(packed, wire, SCALE), "elements of " + wire);
        gpu.kernels().convert(out(memory), widen(wire), stream.handle());
        ByteBuffer unpacked = read(memory.back, memory.host);
        note(wrong, bits.wrongWidened(packed, unpacked, wire, 1 / SCALE), "elements back from " + wire);
        memory.flag.clear(stream.handle());
        gpu.kernels().convertAndCheck(in(memory), narrow(wire), memory.flag.address(), stream.handle());
        boolean flagged = read(memory.flag, memory.host).getInt(0) != 0;
        boolean expected = bits.nonFinite(packed, wire) > 0;
        note(wrong, flagged == expected ? 0 : 1, "flag of " + wire + ", which is " + flagged);
        return wrong;
    }

    private List<DeviceSegment> in(Memory memory) {
        return segments(memory.floats.address(), 4, memory.halves.address(), 2);
    }

    private List<DeviceSegment> out(Memory memory) {
        return segments(memory.halves.address(), 2, memory.back.address(), 4);
    }

    private static Conversion narrow(DType wire) {
        return new Conversion(DType.FLOAT32, wire, SCALE);
    }

    private static Conversion widen(DType wire) {
        return new Conversion(wire, DType.FLOAT32, 1 / SCALE);
    }

    private ByteBuffer read(DeviceStage from, PinnedStage host) {
        int bytes = (int) from.bytes();
        host.copyFromDevice(from.address(), 0, bytes, stream.handle());
        stream.await();
        return copy(host.buffer(), bytes);
    }

    private static void note(List<String> wrong, int count, String what) {
        if (count > 0) {
            wrong.add(count + " " + what);
        }
    }

    private static CheckLine line(List<String> wrong, String figures) {
        return wrong.isEmpty()
                ? new CheckLine("G4", Outcome.PASS, "bits and flags equal to the CPU's; " + figures)
                : new CheckLine("G4", Outcome.FAIL, "unlike the CPU's: " + String.join(", ", wrong) + "; " + figures);
    }

    private String speeds(Memory memory) {
        List<DeviceSegment> in = in(memory);
        List<DeviceSegment> out = out(memory);
        double pack = seconds(() -> gpu.kernels().convert(in, narrow(DType.FLOAT16), stream.handle()));
        double unpack = seconds(() -> gpu.kernels().convert(out, widen(DType.FLOAT16), stream.handle()));
        // The kernels read 4 and write 2 bytes for each element; a copy of 3 bytes for each element moves as much.
        List<DeviceSegment> all =
                List.of(new DeviceSegment(memory.floats.address(), memory.back.address(), 3 * elements));
        double kernelCopy = seconds(() -> gpu.kernels().convert(all, Conversion.copy(DType.UINT8), stream.handle()));
        double deviceCopy = deviceCopy(memory.floats, memory.back, 3 * elements);
        long moved = 6 * elements;
        return String.format(
                Locale.ROOT,
                "%d tensors; pack %.0f GB/s, unpack %.0f GB/s, cuMemcpyDtoD of as many bytes %.0f GB/s (ratios %.2f and"
                        + " %.2f), our own copy %.0f GB/s",
                TENSORS,
                moved / pack / 1e9,
                moved / unpack / 1e9,
                moved / deviceCopy / 1e9,
                deviceCopy / pack,
                deviceCopy / unpack,
                moved / kernelCopy / 1e9);
    }

    private double deviceCopy(DeviceStage from, DeviceStage to, long bytes) {
        try (UserStream copies = new UserStream()) {
            return seconds(
                    () -> DeviceArray.copyOnDevice(from.address(), to.address(), bytes, copies.queue()), copies::await);
        }
    }

    private List<DeviceSegment> segments(long from, int fromBytes, long to, int toBytes) {
        List<DeviceSegment> segments = new ArrayList<>();
        long first = 0;
        for (int size : sizes) {
            segments.add(new DeviceSegment(from + first * fromBytes, to + first * toBytes, size));
            first += aligned(size);
        }
        return segments;
    }

    private static void fill(ByteBuffer floats) {
        Random random = new Random(5);
        for (int at = 0; at < floats.capacity(); at += 4) {
            // The values have all orders of magnitude, including subnormal float16 values and values too large for
            // float16.
            floats.putFloat(at, (float) (random.nextGaussian() * Math.pow(2, random.nextInt(60) - 40)));
        }
    }

    private static ByteBuffer copy(ByteBuffer from, int bytes) {
        ByteBuffer copy = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
        return copy.put(0, from, 0, bytes);
    }

    private List<KernelBits.Run> runs() {
        List<KernelBits.Run> runs = new ArrayList<>();
        long first = 0;
        for (int size : sizes) {
            runs.add(new KernelBits.Run(first, size));
            first += aligned(size);
        }
        return runs;
    }

    private double seconds(Runnable queue) {
        return seconds(queue, stream::await);
    }

    private static double seconds(Runnable queue, Runnable await) {
        queue.run();
        await.run();
        long begun = System.nanoTime();
        for (int i = 0; i < REPEATS; i++) {
            queue.run();
        }
        await.run();
        return (System.nanoTime() - begun) / 1e9 / REPEATS;
    }

    @Override
    public void close() {
        stream.close();
        gpu.close();
    }
}
