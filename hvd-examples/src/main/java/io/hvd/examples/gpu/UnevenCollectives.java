package io.hvd.examples.gpu;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The part of G2 and G3 in which the ranks do not all do the same: different sizes on each rank, transfers between two
 * ranks, and collectives of some ranks only.
 */
final class UnevenCollectives {
    private final HvdContext hvd;
    private final Extent extent;

    UnevenCollectives(HvdContext hvd, Extent extent) {
        this.hvd = hvd;
        this.extent = extent;
    }

    /** @param check the name of the check up to and including the dot */
    List<CheckLine> check(String check) {
        int rank = hvd.rank();
        int size = hvd.size();
        List<CheckLine> lines = new ArrayList<>();
        lines.add(moved(
                check + "uneven-allgather",
                rows -> rows + 3 * rank,
                (name, tensor, rows) -> hvd.allgather(name, tensor)));
        lines.add(moved(
                check + "alltoall-splits",
                rows -> IntStream.of(splits(rows)).sum() + 1,
                (name, tensor, rows) -> hvd.alltoall(name, tensor, splits(rows)).output()));
        lines.add(moved(
                check + "reducescatter-remainder",
                rows -> rows * size + size - 1,
                (name, tensor, rows) -> hvd.reducescatter(name, tensor, AllreduceOptions.sum())));
        if (size > 1) {
            lines.add(passedOn(check + "send-receive"));
            lines.add(inProcessSet(check + "process-set"));
        }
        return lines;
    }

    /** A different number of rows for each rank, and none for some; further rows are not sent. */
    private int[] splits(int rows) {
        return IntStream.range(0, hvd.size())
                .map(to -> (hvd.rank() + to + 1) % 3 * rows)
                .toArray();
    }

    private interface Rows {
        /** The number of elements of this rank's tensor. */
        int count(int rows);
    }

    private interface Call {
        Tensor result(String name, Tensor tensor, int rows);
    }

    private CheckLine moved(String check, Rows rows, Call call) {
        HostComparison host = new HostComparison(hvd);
        for (DType type : DType.values()) {
            for (int each : extent.rows()) {
                String name = "gpu_check." + check + "." + type + "." + each;
                int mine = rows.count(each);
                ByteBuffer values = host.values(type, mine, 3, each);
                try (DeviceArray onGpu = DeviceArray.of(values)) {
                    Tensor found = call.result(name + ".gpu", onGpu.tensor(hvd.device(), type), each);
                    Tensor expected = call.result(name + ".cpu", Tensor.wrap(values, type, Shape.of(mine)), each);
                    compare(host, name, found, expected);
                }
            }
        }
        return host.line(check, "all types, another size on each rank, equal to the host's");
    }

    private static void compare(HostComparison host, String name, Tensor found, Tensor expected) {
        if (!found.shape().equals(expected.shape())) {
            host.differs(name + ": the shape is " + found.shape() + ", on the host " + expected.shape());
            return;
        }
        host.note(name, expected.dtype(), DeviceArray.read(found), HostComparison.bytes(expected), 0);
    }

    /** Checks transfers: each rank sends to the next one, the last to the first. */
    private CheckLine passedOn(String check) {
        HostComparison host = new HostComparison(hvd);
        int next = (hvd.rank() + 1) % hvd.size();
        int previous = (hvd.rank() + hvd.size() - 1) % hvd.size();
        int tag = 0;
        for (DType type : DType.values()) {
            for (int size : extent.sizes()) {
                Tensor expected = Tensor.zeros(type, Shape.of(size));
                ByteBuffer values = host.values(type, size, 3, 0);
                try (DeviceArray mine = DeviceArray.of(values);
                        DeviceArray theirs = new DeviceArray(values.capacity())) {
                    exchange(mine.tensor(hvd.device(), type), next, theirs.tensor(hvd.device(), type), previous, tag++);
                    exchange(Tensor.wrap(values, type, Shape.of(size)), next, expected, previous, tag++);
                    host.note(
                            "gpu_check." + check + "." + type + "." + size,
                            type,
                            theirs.toHost(),
                            HostComparison.bytes(expected),
                            0);
                }
            }
        }
        return host.line(check, "all types, from each rank to the next, equal to the host's");
    }

    private void exchange(Tensor mine, int to, Tensor theirs, int from, int tag) {
        Handle sent = hvd.sendAsync(mine, to, tag);
        hvd.receive(theirs, from, tag);
        sent.synchronize();
    }

    /** Checks a process set of all ranks but the last one, which goes on meanwhile. */
    private CheckLine inProcessSet(String check) {
        HostComparison host = new HostComparison(hvd);
        ProcessSet set =
                hvd.addProcessSet(IntStream.range(0, hvd.size() - 1).boxed().toList());
        if (set.included()) {
            for (DType type : DType.values()) {
                for (int size : extent.sizes()) {
                    String name = "gpu_check." + check + "." + type + "." + size;
                    ByteBuffer values = host.values(type, size, 3, 0);
                    try (DeviceArray onGpu = DeviceArray.of(values)) {
                        set.allreduceInPlace(name + ".gpu", onGpu.tensor(hvd.device(), type), AllreduceOptions.sum());
                        set.allreduceInPlace(
                                name + ".cpu", Tensor.wrap(values, type, Shape.of(size)), AllreduceOptions.sum());
                        host.note(name, type, onGpu.toHost(), values, 0);
                    }
                }
            }
        }
        hvd.removeProcessSet(set);
        return host.line(check, "an allreduce among all ranks but the last, all types, equal to the host's");
    }
}
