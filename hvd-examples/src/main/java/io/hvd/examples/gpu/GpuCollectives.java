package io.hvd.examples.gpu;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.examples.gpu.CheckLine.Outcome;
import io.hvd.tensor.DType;
import io.hvd.tensor.HalfFloat;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import jcuda.runtime.JCuda;
import jcuda.runtime.cudaStream_t;

/**
 * G2: collectives on GPUs give what the same ones give on the host. The values are small whole numbers,
 * so sums and products are exact in every type and the bits must be the same; averages may differ by
 * rounding.
 *
 * <p>A difference is noted and the checks go on, so that all ranks keep making the same calls.
 */
final class GpuCollectives {
    /** One, odd, some, and more than one block's worth on any GPU. */
    private static final int[] SIZES = {1, 7, 1000, 1_000_003};

    /** What NCCL can combine; it only moves the 16-bit integers. */
    private static final Set<DType> COMBINED = EnumSet.complementOf(EnumSet.of(DType.INT16, DType.UINT16));

    private static final ReduceOp[] OPS = {ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT};

    /** Long enough for the fill to be still under way when the allreduce is submitted. */
    private static final int LONG_FILL_BYTES = 1 << 28;

    private final HvdContext hvd;
    private final List<String> differences = new ArrayList<>();

    private GpuCollectives(HvdContext hvd) {
        this.hvd = hvd;
    }

    static List<CheckLine> check(HvdContext hvd) {
        List<CheckLine> lines = new ArrayList<>();
        if (hvd.backend().startsWith("nccl ")) {
            lines.add(new GpuCollectives(hvd).allreduce());
            lines.add(new GpuCollectives(hvd).fused());
            lines.add(new GpuCollectives(hvd).ordered());
            lines.add(new GpuCollectives(hvd).refusals());
            lines.add(new GpuCollectives(hvd).broadcast());
        } else {
            lines.add(new CheckLine("G2", Outcome.NOT_RUN, "NCCL is not in use, back end " + hvd.backend()));
        }
        for (String missing : new String[] {"allgather", "reducescatter", "alltoall"}) {
            lines.add(new CheckLine("G2." + missing, Outcome.NOT_THERE_YET, "not there yet on the GPU"));
        }
        return lines;
    }

    private CheckLine allreduce() {
        for (DType type : COMBINED) {
            for (int size : SIZES) {
                for (ReduceOp op : OPS) {
                    compare(type, size, AllreduceOptions.of(op), 0);
                }
                if (type.isFloating()) {
                    compare(type, size, AllreduceOptions.sum().withPrescale(0.5).withPostscale(4), 0);
                    compare(type, size, AllreduceOptions.average(), 2 * hvd.size() * epsilon(type) * 3);
                }
            }
        }
        return line("G2.allreduce", "all types that NCCL combines, sum min max product average, equal to the host's");
    }

    private void compare(DType type, int elements, AllreduceOptions how, double tolerance) {
        String name = "gpu_check." + type + "." + elements + "." + how;
        ByteBuffer values = values(type, elements, how.op() == ReduceOp.PRODUCT ? 2 : 3, 0);
        try (DeviceArray onGpu = DeviceArray.of(values)) {
            hvd.allreduceInPlace(name + ".gpu", onGpu.tensor(hvd.device(), type), how);
            hvd.allreduceInPlace(name + ".cpu", Tensor.wrap(values, type, Shape.of(elements)), how);
            note(name, type, onGpu.toHost(), values, tolerance);
        }
    }

    /** Tensors that travel in one group must come back each to its own place. */
    private CheckLine fused() {
        Map<String, DeviceArray> arrays = new LinkedHashMap<>();
        Map<String, Tensor> batch = new LinkedHashMap<>();
        Map<String, ByteBuffer> expected = new LinkedHashMap<>();
        for (int i = 0; i < 20; i++) {
            String name = "gpu_check.fused." + i;
            ByteBuffer values = values(DType.FLOAT32, 1 + 37 * i, 3, i);
            arrays.put(name, DeviceArray.of(values));
            batch.put(name, arrays.get(name).tensor(hvd.device(), DType.FLOAT32));
            hvd.allreduceInPlace(
                    name + ".cpu", Tensor.wrap(values, DType.FLOAT32, Shape.of(1 + 37 * i)), AllreduceOptions.sum());
            expected.put(name, values);
        }
        hvd.allreduceInPlaceAsync(batch, AllreduceOptions.sum()).forEach(handle -> handle.synchronize());
        arrays.forEach((name, array) -> note(name, DType.FLOAT32, array.toHost(), expected.get(name), 0));
        arrays.values().forEach(DeviceArray::close);
        return line("G2.fused", "20 tensors in one batch");
    }

    /** The allreduce must wait for what is queued on the tensor's stream. */
    private CheckLine ordered() {
        UserStream stream = new UserStream();
        DeviceArray.check(
                "cudaStreamCreateWithFlags", JCuda.cudaStreamCreateWithFlags(stream, JCuda.cudaStreamNonBlocking));
        try (DeviceArray array = new DeviceArray(LONG_FILL_BYTES)) {
            array.fillAsync(9, stream);
            array.fillAsync(hvd.rank() % 3 + 1, stream);
            hvd.allreduceInPlace(
                    "gpu_check.ordered",
                    array.tensor(hvd.device(), DType.UINT8, stream.handle()),
                    AllreduceOptions.sum());
            int sum = 0;
            for (int rank = 0; rank < hvd.size(); rank++) {
                sum += rank % 3 + 1;
            }
            ByteBuffer found = array.toHost();
            if (found.get(0) != (byte) sum || found.get(LONG_FILL_BYTES - 1) != (byte) sum) {
                differences.add(
                        "found " + found.get(0) + " and " + found.get(LONG_FILL_BYTES - 1) + ", expected " + sum);
            }
        }
        DeviceArray.check("cudaStreamDestroy", JCuda.cudaStreamDestroy(stream));
        return line("G2.ordered", "an allreduce waits for the user's stream");
    }

    /** What NCCL cannot do fails as an operation, and the job goes on. */
    private CheckLine refusals() {
        try (DeviceArray array = DeviceArray.of(values(DType.INT32, 8, 3, 0))) {
            Tensor tensor = array.tensor(hvd.device(), DType.INT32);
            if (hvd.size() > 1) {
                expectUnsupported(
                        "an average of integers",
                        () -> hvd.allreduceInPlace("gpu_check.average", tensor, AllreduceOptions.average()));
            }
            expectUnsupported("an allgather", () -> hvd.allgather("gpu_check.gather", tensor));
        }
        return line("G2.refusals", "what is not there is refused");
    }

    private CheckLine broadcast() {
        for (DType type : DType.values()) {
            for (int size : SIZES) {
                for (int root = 0; root < hvd.size(); root++) {
                    String name = "gpu_check.broadcast." + type + "." + size + "." + root;
                    ByteBuffer values = values(type, size, 3, 0);
                    try (DeviceArray onGpu = DeviceArray.of(values)) {
                        hvd.broadcastInPlace(name + ".gpu", onGpu.tensor(hvd.device(), type), root);
                        hvd.broadcastInPlace(name + ".cpu", Tensor.wrap(values, type, Shape.of(size)), root);
                        note(name, type, onGpu.toHost(), values, 0);
                    }
                }
            }
        }
        return line("G2.broadcast", "all types, from every rank, equal to the host's");
    }

    private void expectUnsupported(String what, Runnable call) {
        try {
            call.run();
            differences.add(what + " was not refused");
        } catch (HvdException e) {
            if (e.id() != ErrorId.UNSUPPORTED) {
                differences.add(what + ": " + e.getMessage());
            }
        }
    }

    private void note(String name, DType type, ByteBuffer found, ByteBuffer expected, double tolerance) {
        if (found.mismatch(expected) < 0) {
            return;
        }
        Shape shape = Shape.of(found.capacity() / type.bytes());
        float[] a = Tensor.wrap(found, type, shape).toFloatArray();
        float[] b = Tensor.wrap(expected, type, shape).toFloatArray();
        for (int i = 0; i < a.length; i++) {
            if (!(Math.abs(a[i] - b[i]) <= tolerance)) {
                differences.add(name + ": element " + i + " is " + a[i] + ", on the host " + b[i]);
                return;
            }
        }
        if (tolerance == 0) {
            differences.add(name + ": the bits differ from the host's");
        }
    }

    private CheckLine line(String name, String what) {
        if (differences.isEmpty()) {
            return new CheckLine(name, Outcome.PASS, what + "; " + hvd.backend());
        }
        return new CheckLine(
                name,
                Outcome.FAIL,
                differences.size() + " differences on rank " + hvd.rank() + ", the first: " + differences.get(0));
    }

    /** Whole numbers from 1 to {@code most} that depend on the rank and the place. */
    private ByteBuffer values(DType type, int elements, int most, int seed) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(elements * type.bytes()).order(ByteOrder.nativeOrder());
        for (int i = 0; i < elements; i++) {
            int value = 1 + (i + hvd.rank() + seed) % most;
            switch (type) {
                case FLOAT32 -> buffer.putFloat(value);
                case FLOAT64 -> buffer.putDouble(value);
                case INT32 -> buffer.putInt(value);
                case INT64 -> buffer.putLong(value);
                case INT8, UINT8 -> buffer.put((byte) value);
                case FLOAT16 -> buffer.putShort(HalfFloat.toFloat16(value));
                case BFLOAT16 -> buffer.putShort(HalfFloat.toBfloat16(value));
                case BOOL -> buffer.put((byte) (value / 2 % 2));
                case INT16, UINT16 -> buffer.putShort((short) value);
            }
        }
        return buffer.flip();
    }

    private static double epsilon(DType type) {
        return switch (type) {
            case FLOAT16 -> 0x1p-10;
            case BFLOAT16 -> 0x1p-7;
            default -> 0x1p-23;
        };
    }

    /** Lets its handle be seen. */
    private static final class UserStream extends cudaStream_t {
        long handle() {
            return getNativePointer();
        }
    }
}
