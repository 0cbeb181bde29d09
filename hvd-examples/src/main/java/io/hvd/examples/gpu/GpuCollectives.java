package io.hvd.examples.gpu;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.HvdContext;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Check G2, or G3 if NCCL is not used: collectives on GPUs must give the results of those on the host. The
 * values are small whole numbers, so sums and products are exact in every type and the bits must be
 * equal; averages may differ by rounding.
 */
final class GpuCollectives {
    private static final ReduceOp[] OPS = {ReduceOp.SUM, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.PRODUCT};

    /** The elements of 1 MiB of float32: hvd reduces batches of such tensors in place. */
    private static final int DIRECT_ELEMENTS = 1 << 18;

    private final HvdContext hvd;
    private final Extent extent;
    private final HostComparison host;

    private GpuCollectives(HvdContext hvd, Extent extent) {
        this.hvd = hvd;
        this.extent = extent;
        this.host = new HostComparison(hvd);
    }

    static List<CheckLine> check(HvdContext hvd, Extent extent) {
        List<CheckLine> lines = new ArrayList<>();
        String check = hvd.backend().startsWith("nccl ") ? "G2." : "G3.";
        lines.add(new GpuCollectives(hvd, extent).allreduce(check + "allreduce"));
        lines.add(new GpuCollectives(hvd, extent).fused(check + "fused"));
        lines.add(new GpuCollectives(hvd, extent).grouped(check + "grouped"));
        lines.add(new GpuCollectives(hvd, extent).ordered(check + "ordered"));
        lines.add(new GpuCollectives(hvd, extent).compressed(check + "compressed"));
        lines.add(new GpuCollectives(hvd, extent).broadcast(check + "broadcast"));
        lines.addAll(new UnevenCollectives(hvd, extent).check(check));
        movements().forEach((name, call) -> lines.add(new GpuCollectives(hvd, extent).moved(check + name, call)));
        return lines;
    }

    private CheckLine allreduce(String check) {
        for (DType type : DType.values()) {
            for (int size : extent.sizes()) {
                for (ReduceOp op : OPS) {
                    compare(type, size, AllreduceOptions.of(op), 0);
                }
                if (type.isFloating()) {
                    compare(type, size, AllreduceOptions.sum().withPrescale(0.5).withPostscale(4), 0);
                }
                if (type != DType.BOOL) {
                    double tolerance = type.isFloating() ? 2 * hvd.size() * epsilon(type) * 3 : 0;
                    compare(type, size, AllreduceOptions.average(), tolerance);
                }
            }
        }
        return host.line(check, "all types, sum min max product average scaled, equal to the host's");
    }

    private CheckLine compressed(String check) {
        for (DType type : List.of(DType.FLOAT32, DType.FLOAT64)) {
            for (Compression compression : List.of(Compression.FP16, Compression.BF16)) {
                for (int size : extent.sizes()) {
                    compare(type, size, AllreduceOptions.sum().withCompression(compression), 0);
                }
            }
        }
        return host.line(check, "float32 and float64 as float16 and bfloat16, equal to the host's");
    }

    private void compare(DType type, int elements, AllreduceOptions how, double tolerance) {
        String name = "gpu_check." + type + "." + elements + "." + how;
        ByteBuffer values = host.values(type, elements, how.op() == ReduceOp.PRODUCT ? 2 : 3, 0);
        try (DeviceArray onGpu = DeviceArray.of(values)) {
            hvd.allreduceInPlace(name + ".gpu", onGpu.tensor(hvd.device(), type), how);
            hvd.allreduceInPlace(name + ".cpu", Tensor.wrap(values, type, Shape.of(elements)), how);
            host.note(name, type, onGpu.toHost(), values, tolerance);
        }
    }

    /** Checks that tensors that travel in one operation return to their own places. */
    private CheckLine fused(String check) {
        return batch(check, IntStream.range(0, 20).map(i -> 1 + 37 * i).toArray(), "20 tensors in one batch");
    }

    /** Checks tensors that are large enough for NCCL to reduce them in place, in one group of its calls. */
    private CheckLine grouped(String check) {
        int[] sizes = {DIRECT_ELEMENTS, DIRECT_ELEMENTS + 1, 2 * DIRECT_ELEMENTS, DIRECT_ELEMENTS + 37};
        return batch(check, sizes, "4 tensors of 1 MiB and more in one batch");
    }

    private CheckLine batch(String check, int[] sizes, String what) {
        Map<String, DeviceArray> arrays = new LinkedHashMap<>();
        Map<String, Tensor> batch = new LinkedHashMap<>();
        Map<String, ByteBuffer> expected = new LinkedHashMap<>();
        for (int i = 0; i < sizes.length; i++) {
            String name = "gpu_check." + check + "." + i;
            ByteBuffer values = host.values(DType.FLOAT32, sizes[i], 3, i);
            arrays.put(name, DeviceArray.of(values));
            batch.put(name, arrays.get(name).tensor(hvd.device(), DType.FLOAT32));
            hvd.allreduceInPlace(
                    name + ".cpu", Tensor.wrap(values, DType.FLOAT32, Shape.of(sizes[i])), AllreduceOptions.sum());
            expected.put(name, values);
        }
        hvd.allreduceInPlaceAsync(batch, AllreduceOptions.sum()).forEach(handle -> handle.synchronize());
        arrays.forEach((name, array) -> host.note(name, DType.FLOAT32, array.toHost(), expected.get(name), 0));
        arrays.values().forEach(DeviceArray::close);
        return host.line(check, what);
    }

    /** Checks that an allreduce waits for the work that is queued on the tensor's stream. */
    private CheckLine ordered(String check) {
        try (UserStream stream = new UserStream();
                DeviceArray array = new DeviceArray(extent.longFillBytes())) {
            array.fillAsync(9, stream.queue());
            array.fillAsync(hvd.rank() % 3 + 1, stream.queue());
            int last = (int) array.bytes() - 1;
            hvd.allreduceInPlace(
                    "gpu_check.ordered",
                    array.tensor(hvd.device(), DType.UINT8, stream.handle(), Shape.of(array.bytes())),
                    AllreduceOptions.sum());
            stream.await();
            int sum = 0;
            for (int rank = 0; rank < hvd.size(); rank++) {
                sum += rank % 3 + 1;
            }
            ByteBuffer found = array.toHost();
            if (found.get(0) != (byte) sum || found.get(last) != (byte) sum) {
                host.differs("found " + found.get(0) + " and " + found.get(last) + ", expected " + sum);
            }
        }
        return host.line(check, "an allreduce waits for the user's stream, and the stream for it");
    }

    private CheckLine broadcast(String check) {
        for (DType type : DType.values()) {
            for (int size : extent.sizes()) {
                for (int root = 0; root < hvd.size(); root++) {
                    String name = "gpu_check.broadcast." + type + "." + size + "." + root;
                    ByteBuffer values = host.values(type, size, 3, 0);
                    try (DeviceArray onGpu = DeviceArray.of(values)) {
                        hvd.broadcastInPlace(name + ".gpu", onGpu.tensor(hvd.device(), type), root);
                        hvd.broadcastInPlace(name + ".cpu", Tensor.wrap(values, type, Shape.of(size)), root);
                        host.note(name, type, onGpu.toHost(), values, 0);
                    }
                }
            }
        }
        return host.line(check, "all types, from every rank, equal to the host's");
    }

    /** The collectives whose result is a new tensor of hvd's. */
    private static Map<String, Movement> movements() {
        Map<String, Movement> all = new LinkedHashMap<>();
        all.put("allgather", (hvd, name, tensor) -> hvd.allgather(name, tensor));
        all.put("alltoall", (hvd, name, tensor) -> hvd.alltoall(name, tensor).output());
        all.put("reducescatter", (hvd, name, tensor) -> hvd.reducescatter(name, tensor, AllreduceOptions.sum()));
        all.put("reduce", (hvd, name, tensor) -> hvd.reduce(name, tensor, AllreduceOptions.sum(), 0));
        all.put("gather", (hvd, name, tensor) -> hvd.gather(name, tensor, 0));
        all.put("scatter", (hvd, name, tensor) -> hvd.scatter(name, hvd.rank() == 0 ? tensor : null, 0));
        all.put("out-of-place", (hvd, name, tensor) -> hvd.allreduce(name, tensor, AllreduceOptions.sum()));
        return all;
    }

    private interface Movement {
        /** The result; null if this rank gets none. */
        Tensor call(HvdContext hvd, String name, Tensor tensor);
    }

    private CheckLine moved(String check, Movement movement) {
        for (DType type : DType.values()) {
            for (int rows : extent.rows()) {
                String name = "gpu_check." + check + "." + type + "." + rows;
                // Alltoall needs the same number of rows for each rank.
                ByteBuffer values = host.values(type, rows * hvd.size(), 3, rows);
                Tensor onHost = Tensor.wrap(values, type, Shape.of((long) rows * hvd.size()));
                try (DeviceArray onGpu = DeviceArray.of(values)) {
                    Tensor found = movement.call(hvd, name + ".gpu", onGpu.tensor(hvd.device(), type));
                    Tensor expected = movement.call(hvd, name + ".cpu", onHost);
                    if (found != null) {
                        host.note(name, type, DeviceArray.read(found), HostComparison.bytes(expected), 0);
                    }
                }
            }
        }
        return host.line(check, "all types, equal to the host's");
    }

    private static double epsilon(DType type) {
        return switch (type) {
            case FLOAT16 -> 0x1p-10;
            case BFLOAT16 -> 0x1p-7;
            default -> 0x1p-23;
        };
    }
}
