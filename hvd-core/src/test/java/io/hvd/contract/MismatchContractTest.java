package io.hvd.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.Handle;
import io.hvd.ProcessSet;
import io.hvd.error.DuplicateNameException;
import io.hvd.error.RankMismatchException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Ranks that ask for different things under one name: all are told what differs, and go on. */
public class MismatchContractTest extends Contract {
    private static final AllreduceOptions SUM = AllreduceOptions.sum();

    /** Every operation that a program can give a name to, with a tensor of two rows. */
    private static Map<String, Named> operations() {
        Map<String, Named> all = new LinkedHashMap<>();
        all.put("allreduce", (set, name, tensor) -> set.allreduceAsync(name, tensor, SUM));
        all.put("allgather", ProcessSet::allgatherAsync);
        all.put("broadcast", (set, name, tensor) -> set.broadcastAsync(name, tensor, 0));
        all.put("alltoall", (set, name, tensor) -> set.alltoallAsync(name, tensor, new int[set.size()]));
        all.put("reducescatter", (set, name, tensor) -> set.reducescatterAsync(name, tensor, SUM));
        all.put("reduce", (set, name, tensor) -> set.reduceAsync(name, tensor, SUM, 0));
        all.put("gather", (set, name, tensor) -> set.gatherAsync(name, tensor, 0));
        all.put("scatter", (set, name, tensor) -> set.scatterAsync(name, tensor, 0));
        return all;
    }

    private interface Named {
        Handle start(ProcessSet set, String name, Tensor tensor);
    }

    private void forEach(List<String> operations, String row, Tensor usual, Tensor odd, String... facts)
            throws Exception {
        for (String operation : operations) {
            String name = row + "." + operation;
            List<String> all = new ArrayList<>(List.of(facts));
            all.add(operation);
            mismatch(
                    name,
                    (hvd, differs) -> {
                        operations()
                                .get(operation)
                                .start(hvd, name, differs ? odd : usual)
                                .synchronize();
                        return null;
                    },
                    all.toArray(String[]::new));
        }
    }

    private static Tensor floats(long... dims) {
        return Tensor.zeros(DType.FLOAT32, Shape.of(dims));
    }

    /** 3.1 */
    @Test
    void everyOperationComparesElementTypes() throws Exception {
        List<String> all =
                List.of("allreduce", "allgather", "broadcast", "alltoall", "reducescatter", "reduce", "gather");
        forEach(all, "types", floats(2, 2), Tensor.zeros(DType.INT64, Shape.of(2, 2)), "float32", "int64");
    }

    /** 3.2 */
    @Test
    void everyTwoOperationsUnderOneNameAreToldApart() throws Exception {
        List<String> kinds = List.copyOf(operations().keySet());
        for (int i = 0; i < kinds.size(); i++) {
            String usual = kinds.get(i);
            String other = kinds.get((i + 1) % kinds.size());
            String name = "kinds." + usual;
            mismatch(
                    name,
                    (hvd, odd) -> {
                        operations()
                                .get(odd ? other : usual)
                                .start(hvd, name, floats(2, 2))
                                .synchronize();
                        return null;
                    },
                    usual,
                    other);
        }
    }

    /** 3.3 */
    @Test
    void reductionsAndBroadcastsCompareShapes() throws Exception {
        forEach(
                List.of("allreduce", "broadcast", "reducescatter", "reduce"),
                "shapes",
                floats(2, 2),
                floats(2, 3),
                "[2, 2]",
                "[2, 3]");
    }

    /** 3.6: the first dimension is the ranks' own business, the others are not. */
    @Test
    void gatheringOperationsCompareTheOtherDimensions() throws Exception {
        List<String> all = List.of("allgather", "gather", "alltoall");
        forEach(all, "trailing", floats(2, 3, 4), floats(2, 3, 5), "dimension 2", "4 on", "5 on");
        forEach(all, "number", floats(2, 3), floats(2), "number of dimensions", "2 on", "1 on");
    }

    /** 3.4 */
    @Test
    void everyReductionComparesScaleFactors() throws Exception {
        AllreduceOptions odds = SUM.withPostscale(7);
        mismatch(
                "scale.scatter",
                (hvd, odd) -> hvd.reducescatter("scale.scatter", floats(2), odd ? odds : SUM),
                "prescale 1.0, postscale 1.0",
                "prescale 1.0, postscale 7.0",
                "reducescatter");
        mismatch(
                "scale.reduce",
                (hvd, odd) -> hvd.reduce("scale.reduce", floats(2), odd ? odds : SUM, 0),
                "postscale 1.0",
                "postscale 7.0");
    }

    /** 3.5 */
    @Test
    void everyReductionComparesReduceOperations() throws Exception {
        mismatch(
                "op.scatter",
                (hvd, odd) -> hvd.reducescatter("op.scatter", floats(2), odd ? AllreduceOptions.average() : SUM),
                "SUM",
                "AVERAGE",
                "reducescatter");
        mismatch(
                "op.reduce",
                (hvd, odd) -> hvd.reduce(
                        "op.reduce", floats(2), AllreduceOptions.of(odd ? ReduceOp.PRODUCT : ReduceOp.MIN), 0),
                "MIN",
                "PRODUCT");
    }

    /** 3.7 */
    @Test
    void everyRootedOperationComparesRoots() throws Exception {
        mismatch(
                "root.reduce",
                (hvd, odd) -> hvd.reduce("root.reduce", floats(2), SUM, odd ? 1 : 0),
                "root rank",
                "reduce");
        mismatch("root.gather", (hvd, odd) -> hvd.gather("root.gather", floats(2), odd ? 1 : 0), "root rank", "gather");
        mismatch(
                "root.scatter",
                (hvd, odd) -> hvd.scatter("root.scatter", floats(2), odd ? 1 : 0),
                "root rank",
                "scatter");
    }

    @Test
    void theTwoHalvesOfATransferAreCompared() throws Exception {
        onAllOf(2, hvd -> {
            if (hvd.rank() < 2) {
                boolean sends = hvd.rank() == 0;
                RankMismatchException shape = assertThrows(
                        RankMismatchException.class,
                        () -> (sends ? hvd.sendAsync(floats(3), 1, 4) : hvd.receiveAsync(floats(5), 0, 4))
                                .synchronize());
                assertThat(shape).hasMessageContainingAll("shape", "[3] on ranks {0}", "[5] on ranks {1}");
                RankMismatchException type = assertThrows(
                        RankMismatchException.class,
                        () -> (sends ? hvd.sendAsync(Tensor.of(1.0), 1, 4) : hvd.receiveAsync(Tensor.of(1), 0, 4))
                                .synchronize());
                assertThat(type).hasMessageContainingAll("float64 on ranks {0}", "int32 on ranks {1}");
            }
            requireUsable(hvd, "transfer");
            return null;
        });
    }

    /** A group fails with one error; everybody who waits for a part of it sees the line where he waits. */
    @Test
    void whoWaitsForAFailedOperationSeesHisOwnCall() throws Exception {
        onAllOf(2, hvd -> {
            boolean odd = hvd.rank() == 1;
            List<Handle> handles = hvd.groupedAllreduceAsync("own", List.of(floats(2), floats(odd ? 3 : 2)), SUM);
            RankMismatchException first = assertThrows(RankMismatchException.class, () -> awaitFirst(handles.get(0)));
            RankMismatchException second = assertThrows(RankMismatchException.class, () -> awaitSecond(handles.get(1)));
            assertThat(first).hasMessage(second.getMessage()).hasCauseInstanceOf(RankMismatchException.class);
            assertThat(methods(first)).contains("awaitFirst").doesNotContain("awaitSecond");
            assertThat(methods(second)).contains("awaitSecond").doesNotContain("awaitFirst");
            return null;
        });
    }

    private static void awaitFirst(Handle handle) {
        handle.synchronize();
    }

    private static void awaitSecond(Handle handle) {
        handle.synchronize();
    }

    private static List<String> methods(Throwable error) {
        return Arrays.stream(error.getStackTrace())
                .map(StackTraceElement::getMethodName)
                .toList();
    }

    /** 3.8 */
    @Test
    void aBroadcastComparesDevices() throws Exception {
        mismatch(
                "device.broadcast",
                (hvd, odd) -> hvd.broadcastInPlace("device.broadcast", odd ? onGpu() : floats(1), 0),
                "CPU",
                "CUDA");
    }

    private static Tensor onGpu() {
        return Tensor.onDevice(4096, Device.cuda(0), 0, DType.FLOAT32, Shape.of(1));
    }

    @Test
    void aRequestThatTheRanksHaveRememberedIsComparedWhenOneOfThemChangesIt() throws Exception {
        onAllOf(2, hvd -> {
            boolean odd = hvd.rank() == hvd.size() - 1;
            for (int round = 0; round < 3; round++) {
                for (int i = 0; i < 3; i++) {
                    assertThat(sum(hvd, "remembered", 1)).isEqualTo(hvd.size());
                }
                assertThatThrownBy(() -> hvd.allreduce("remembered", floats(odd ? 3 : 1), SUM))
                        .isInstanceOf(RankMismatchException.class)
                        .hasMessageContainingAll("\"remembered\"", "[3] on ranks {" + (hvd.size() - 1) + "}");
            }
            return null;
        });
    }

    /** A name is in progress until its result is there, whatever the operation. */
    @Test
    void aNameInProgressIsRefusedForEveryOperation() throws Exception {
        onAllOf(2, hvd -> {
            for (String operation : operations().keySet()) {
                String name = "busy." + operation;
                Named start = operations().get(operation);
                Handle first = null;
                if (hvd.rank() == 0) {
                    first = start.start(hvd, name, floats(2));
                    assertThatThrownBy(() -> start.start(hvd, name, floats(2)))
                            .isInstanceOf(DuplicateNameException.class)
                            .hasMessageContainingAll("\"" + name + "\"", operation);
                    assertThatThrownBy(() -> hvd.gather(name, floats(2), 0)).isInstanceOf(DuplicateNameException.class);
                }
                hvd.broadcast(name + ".go", floats(1), 0);
                (first == null ? start.start(hvd, name, floats(2)) : first).synchronize();
            }
            requireUsable(hvd, "busy");
            return null;
        });
    }

    @Test
    void elementTypesThatDifferFailOnEveryRank() throws Exception {
        mismatch(
                "dtype",
                (hvd, odd) -> hvd.allreduce("dtype", odd ? Tensor.of(1.0) : Tensor.of(1f)),
                "float32",
                "float64");
    }

    @Test
    void operationsThatDifferFailOnEveryRank() throws Exception {
        mismatch(
                "kind",
                (hvd, odd) -> odd ? hvd.allgather("kind", Tensor.of(1f)) : hvd.allreduce("kind", Tensor.of(1f)),
                "allreduce",
                "allgather");
    }

    @Test
    void shapesThatDifferFailOnEveryRank() throws Exception {
        mismatch("shape", (hvd, odd) -> hvd.allreduce("shape", Tensor.of(new float[odd ? 5 : 4])), "[4]", "[5]");
        mismatch(
                "shape.broadcast",
                (hvd, odd) -> hvd.broadcast("shape.broadcast", Tensor.of(new float[odd ? 5 : 4]), 0),
                "[4]",
                "[5]");
    }

    @Test
    void factorsThatDifferFailOnEveryRank() throws Exception {
        mismatch(
                "factor",
                (hvd, odd) -> hvd.allreduce(
                        "factor", Tensor.of(1f), AllreduceOptions.sum().withPrescale(odd ? 3 : 2)),
                "prescale 2.0",
                "prescale 3.0");
    }

    @Test
    void reduceOperationsThatDifferFailOnEveryRank() throws Exception {
        mismatch("op", (hvd, odd) -> reduce(hvd, "op", Tensor.of(1f), odd ? ReduceOp.MAX : ReduceOp.SUM), "SUM", "MAX");
    }

    @Test
    void compressionsThatDifferFailOnEveryRank() throws Exception {
        mismatch(
                "wire",
                (hvd, odd) -> hvd.allreduce(
                        "wire",
                        Tensor.of(1f),
                        AllreduceOptions.sum().withCompression(odd ? Compression.FP16 : Compression.NONE)),
                "float32",
                "float16");
    }

    @Test
    void trailingDimensionsThatDifferFailOnEveryRank() throws Exception {
        mismatch(
                "rows",
                (hvd, odd) -> hvd.allgather("rows", Tensor.zeros(DType.FLOAT32, Shape.of(2, odd ? 4 : 3))),
                "dimension 1",
                "3",
                "4");
        mismatch(
                "dims",
                (hvd, odd) -> hvd.allgather("dims", Tensor.zeros(DType.FLOAT32, odd ? Shape.of(2, 1) : Shape.of(2))),
                "number of dimensions",
                "1",
                "2");
    }

    @Test
    void rootsThatDifferFailOnEveryRank() throws Exception {
        mismatch("root", (hvd, odd) -> hvd.broadcast("root", Tensor.of(1f), odd ? 1 : 0), "root", "0", "1");
    }

    @Test
    void devicesThatDifferFailOnEveryRank() throws Exception {
        mismatch(
                "device",
                (hvd, odd) -> hvd.allreduceInPlace(
                        "device",
                        odd ? Tensor.onDevice(4096, Device.cuda(0), 0, DType.FLOAT32, Shape.of(1)) : Tensor.of(1f),
                        AllreduceOptions.sum()),
                "CPU",
                "CUDA");
    }
}
