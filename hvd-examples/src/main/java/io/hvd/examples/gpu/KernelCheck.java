package io.hvd.examples.gpu;

import io.hvd.HvdContext;
import io.hvd.backend.cuda.Conversion;
import io.hvd.backend.cuda.CudaDevice;
import io.hvd.backend.cuda.CudaStream;
import io.hvd.backend.cuda.DeviceStage;
import io.hvd.backend.cuda.PinnedStage;
import io.hvd.backend.cuda.Segment;
import io.hvd.backend.cuda.SegmentKernels;
import io.hvd.examples.gpu.CheckLine.Outcome;
import io.hvd.tensor.Converter;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * G4: a hundred tensors from 4 bytes to 64 MiB are packed, scaled and turned into float16 by one launch,
 * and back; the bits are those of the CPU. The speed is compared with a copy from device to device that
 * moves as many bytes.
 */
final class KernelCheck implements AutoCloseable {
    private static final int TENSORS = 100;
    private static final int REPEATS = 20;
    private static final double SCALE = 0.25;

    private final CudaDevice gpu;
    private final CudaStream stream;
    private final List<Integer> sizes = new ArrayList<>();
    private long elements;

    private KernelCheck(int device, Extent extent) {
        gpu = CudaDevice.open(device);
        stream = gpu.createStream();
        Random random = new Random(4);
        for (int i = 0; i < TENSORS; i++) {
            // Most are small, as gradients are.
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
        try (DeviceStage floats = gpu.allocate(bytes);
                DeviceStage halves = gpu.allocate(bytes / 2);
                DeviceStage back = gpu.allocate(bytes);
                PinnedStage host = gpu.allocatePinned((int) bytes)) {
            fill(host.buffer());
            host.copyToDevice(0, floats.address(), (int) bytes, stream.handle());
            stream.await();
            List<Segment> in = segments(floats.address(), 4, halves.address(), 2);
            List<Segment> out = segments(halves.address(), 2, back.address(), 4);
            Conversion narrow = new Conversion(DType.FLOAT32, DType.FLOAT16, SCALE);
            Conversion widen = new Conversion(DType.FLOAT16, DType.FLOAT32, 1 / SCALE);
            gpu.kernels().convert(in, narrow, stream.handle());
            gpu.kernels().convert(out, widen, stream.handle());
            ByteBuffer source = copy(host.buffer(), (int) bytes);
            host.copyFromDevice(halves.address(), 0, (int) (bytes / 2), stream.handle());
            stream.await();
            int wrong = differences(source, host.buffer());
            double pack = seconds(() -> gpu.kernels().convert(in, narrow, stream.handle()));
            double unpack = seconds(() -> gpu.kernels().convert(out, widen, stream.handle()));
            // The kernels read 4 and write 2 bytes of each element; so does a copy of 3 bytes of each.
            List<Segment> all = List.of(new Segment(floats.address(), back.address(), 3 * elements));
            double plain = seconds(() -> gpu.kernels().convert(all, Conversion.copy(DType.UINT8), stream.handle()));
            return line(wrong, 6 * elements, pack, unpack, plain, deviceCopy(floats, back, 3 * elements));
        }
    }

    private static CheckLine line(
            int wrong, long moved, double pack, double unpack, double kernelCopy, double deviceCopy) {
        String figures = String.format(
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
        return wrong == 0
                ? new CheckLine("G4", Outcome.PASS, "bits equal to the CPU's; " + figures)
                : new CheckLine("G4", Outcome.FAIL, wrong + " elements differ from the CPU's; " + figures);
    }

    private double deviceCopy(DeviceStage from, DeviceStage to, long bytes) {
        try (UserStream copies = new UserStream()) {
            return seconds(
                    () -> DeviceArray.copyOnDevice(from.address(), to.address(), bytes, copies.queue()), copies::await);
        }
    }

    private List<Segment> segments(long from, int fromBytes, long to, int toBytes) {
        List<Segment> segments = new ArrayList<>();
        long first = 0;
        for (int size : sizes) {
            segments.add(new Segment(from + first * fromBytes, to + first * toBytes, size));
            first += aligned(size);
        }
        return segments;
    }

    private static void fill(ByteBuffer floats) {
        Random random = new Random(5);
        for (int at = 0; at < floats.capacity(); at += 4) {
            // Every order of magnitude, subnormal halves and what is too large for one.
            floats.putFloat(at, (float) (random.nextGaussian() * Math.pow(2, random.nextInt(60) - 40)));
        }
    }

    private static ByteBuffer copy(ByteBuffer from, int bytes) {
        ByteBuffer copy = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
        return copy.put(0, from, 0, bytes);
    }

    private int differences(ByteBuffer floats, ByteBuffer halves) {
        ByteBuffer expected = ByteBuffer.allocateDirect(2 * (1 << 20)).order(ByteOrder.nativeOrder());
        Tensor source = Tensor.wrap(floats, DType.FLOAT32, Shape.of(floats.capacity() / 4));
        Converter converter = new Converter();
        int wrong = 0;
        long first = 0;
        for (int size : sizes) {
            for (int done = 0; done < size; done += 1 << 20) {
                int count = Math.min(1 << 20, size - done);
                converter.pack(source, first + done, count, expected, 0, DType.FLOAT16, SCALE);
                for (int i = 0; i < count; i++) {
                    wrong += expected.getShort(2 * i) == halves.getShort((int) (2 * (first + done + i))) ? 0 : 1;
                }
            }
            first += aligned(size);
        }
        return wrong;
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
