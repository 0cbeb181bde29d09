package io.hvd.engine.coordination;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.engine.message.Moving;
import io.hvd.engine.message.Reducing;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import io.hvd.spi.Reduction;
import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class MismatchTest {
    private static Optional<String> find(List<Request> requests) {
        return Mismatch.find(requests, IntStream.range(0, 9).boxed().toList());
    }

    /** Ranks 0 and 2 say one thing, rank 1 another, so that a rank's number shows which set it fell into. */
    private static String oddOneOut(Request zeroAndTwo, Request one) {
        return find(List.of(zeroAndTwo, one, zeroAndTwo)).orElseThrow();
    }

    private static Request sumOf(DType type, long... dims) {
        return Requests.allreduce("layer1.weight", type, Shape.of(dims), ReduceOp.SUM);
    }

    @Test
    void equalRequestsAgree() {
        for (Request request : List.of(
                sumOf(DType.FLOAT16, 2, 3),
                Requests.gather("g", DType.INT8, 3, 2),
                Requests.broadcast("b", 1, 4),
                new Request.Barrier("w", 0))) {
            assertThat(find(List.of(request, request, request))).isEmpty();
            assertThat(find(List.of(request))).isEmpty();
        }
    }

    @Test
    void elementTypes() {
        assertThat(oddOneOut(sumOf(DType.FLOAT32, 4), sumOf(DType.FLOAT16, 4)))
                .contains("\"layer1.weight\"", "element type", "allreduce")
                .contains("float32 on ranks {0, 2}", "float16 on ranks {1}");
    }

    @Test
    void operations() {
        assertThat(oddOneOut(Requests.gather("x", DType.FLOAT32, 4), Requests.broadcast("x", 0, 4)))
                .contains("\"x\"", "operation")
                .contains("allgather on ranks {0, 2}", "broadcast on ranks {1}");
    }

    /** A program may choose for a tensor the very name that a transfer has. */
    @Test
    void aTransferAndAnotherOperation() {
        Request half = Request.send("x", Tensor.of(1f, 2f), 1);
        assertThat(oddOneOut(half, Requests.gather("x", DType.FLOAT32, 2)))
                .contains("\"x\"", "operation")
                .contains("send on ranks {0, 2}", "allgather on ranks {1}");
    }

    @Test
    void shapesOfAnAllreduceAndOfABroadcast() {
        assertThat(oddOneOut(sumOf(DType.FLOAT32, 4, 3), sumOf(DType.FLOAT32, 3, 4)))
                .contains("\"layer1.weight\"", "shape", "allreduce")
                .contains("[4, 3] on ranks {0, 2}", "[3, 4] on ranks {1}");
        assertThat(oddOneOut(Requests.broadcast("w", 0, 4), Requests.broadcast("w", 0)))
                .contains("\"w\"", "shape", "broadcast")
                .contains("[4] on ranks {0, 2}", "[] on ranks {1}");
    }

    @Test
    void scaleFactors() {
        assertThat(oddOneOut(Requests.scaled("s", 2, 0.5), Requests.scaled("s", 3, 0.5)))
                .contains("\"s\"", "scale", "allreduce")
                .contains("prescale 2.0, postscale 0.5 on ranks {0, 2}", "prescale 3.0, postscale 0.5 on ranks {1}");
        assertThat(oddOneOut(Requests.scaled("s", 2, 0.5), Requests.scaled("s", 2, 0.25)))
                .contains("postscale 0.5 on ranks {0, 2}", "postscale 0.25 on ranks {1}");
    }

    @Test
    void reduceOperationsByTheirNames() {
        assertThat(oddOneOut(
                        Requests.allreduce("r", DType.INT32, Shape.of(1), ReduceOp.AVERAGE),
                        Requests.allreduce("r", DType.INT32, Shape.of(1), ReduceOp.MAX)))
                .contains("\"r\"", "reduce operation")
                .contains("AVERAGE on ranks {0, 2}", "MAX on ranks {1}");
    }

    @Test
    void typesOnTheWire() {
        assertThat(oddOneOut(Requests.wired("c", DType.FLOAT32), Requests.wired("c", DType.BFLOAT16)))
                .contains("\"c\"", "compression", "wire")
                .contains("float32 on ranks {0, 2}", "bfloat16 on ranks {1}");
    }

    @Test
    void numbersOfDimensionsOfAnAllgather() {
        assertThat(oddOneOut(Requests.gather("g", DType.FLOAT32, 2, 3), Requests.gather("g", DType.FLOAT32, 2, 3, 1)))
                .contains("\"g\"", "number of dimensions", "allgather")
                .contains("2 on ranks {0, 2}", "3 on ranks {1}");
    }

    @Test
    void dimensionsOfAnAllgatherBehindTheFirst() {
        assertThat(oddOneOut(
                        Requests.gather("g", DType.FLOAT32, 2, 3, 7), Requests.gather("g", DType.FLOAT32, 5, 3, 8)))
                .contains("\"g\"", "dimension 2", "allgather")
                .contains("7 on ranks {0, 2}", "8 on ranks {1}");
        assertThat(oddOneOut(Requests.gather("g", DType.FLOAT32, 2, 3), Requests.gather("g", DType.FLOAT32, 2, 4)))
                .contains("dimension 1", "3 on ranks {0, 2}", "4 on ranks {1}");
    }

    @Test
    void theFirstDimensionOfAnAllgatherIsFree() {
        assertThat(find(List.of(
                        Requests.gather("g", DType.FLOAT32, 2, 3),
                        Requests.gather("g", DType.FLOAT32, 0, 3),
                        Requests.gather("g", DType.FLOAT32, 9, 3))))
                .isEmpty();
    }

    @Test
    void rootsOfABroadcast() {
        assertThat(oddOneOut(Requests.broadcast("w", 0, 4), Requests.broadcast("w", 2, 4)))
                .contains("\"w\"", "root", "broadcast")
                .contains("0 on ranks {0, 2}", "2 on ranks {1}");
    }

    @Test
    void devicesOfEveryKindOfOperation() {
        for (Request request :
                List.of(Requests.sum("d", 16), Requests.gather("d", DType.FLOAT32, 4), Requests.broadcast("d", 0, 4))) {
            assertThat(oddOneOut(request.on(Device.cuda(0)), request))
                    .contains("\"d\"", "device", request.kind().toString())
                    .contains("CUDA (the rank's GPU 0) on ranks {0, 2}", "CPU on ranks {1}");
        }
    }

    @Test
    void everyDifferentValueIsListedWithItsRanksInOrder() {
        List<Request> requests = List.of(
                sumOf(DType.FLOAT64, 1),
                sumOf(DType.FLOAT32, 1),
                sumOf(DType.INT8, 1),
                sumOf(DType.FLOAT32, 1),
                sumOf(DType.FLOAT64, 1));
        assertThat(find(requests).orElseThrow())
                .contains("float64 on ranks {0, 4}; float32 on ranks {1, 3}; int8 on ranks {2}");
    }

    private static Request.Payload payload(long... dims) {
        return Requests.payload(DType.FLOAT32, Shape.of(dims));
    }

    private static Reducing.Reduce reduce(ReduceOp op, int root) {
        return new Reducing.Reduce("r", payload(4), new Reduction(op, DType.FLOAT32, 1, 1), root);
    }

    @Test
    void rootsOfEveryRootedOperation() {
        assertThat(oddOneOut(reduce(ReduceOp.SUM, 0), reduce(ReduceOp.SUM, 2)))
                .contains("root", "reduce", "0 on ranks {0, 2}", "2 on ranks {1}");
        assertThat(oddOneOut(new Moving.Gather("g", payload(4), 0), new Moving.Gather("g", payload(4), 2)))
                .contains("root", "gather", "0 on ranks {0, 2}", "2 on ranks {1}");
        assertThat(oddOneOut(
                        new Moving.Scatter("s", Optional.empty(), 1),
                        new Moving.Scatter("s", Optional.of(payload(4)), 2)))
                .contains("root", "scatter", "1 on ranks {0, 2}", "2 on ranks {1}");
    }

    @Test
    void aReduceOfTheSameRootIsComparedAsAnAllreduceIs() {
        assertThat(oddOneOut(reduce(ReduceOp.SUM, 1), reduce(ReduceOp.MAX, 1)))
                .contains("reduce operation", "SUM on ranks {0, 2}", "MAX on ranks {1}");
    }

    @Test
    void rowsOfAGatherAndOfAnAlltoallButNotHowManyThereAre() {
        assertThat(oddOneOut(new Moving.Gather("g", payload(4, 2), 0), new Moving.Gather("g", payload(4, 3), 0)))
                .contains("dimension 1", "gather", "2 on ranks {0, 2}", "3 on ranks {1}");
        assertThat(oddOneOut(
                        new Moving.Alltoall("x", payload(4, 2), List.of(4L)),
                        new Moving.Alltoall("x", payload(4), List.of(4L))))
                .contains("number of dimensions", "alltoall", "2 on ranks {0, 2}", "1 on ranks {1}");
        assertThat(find(List.of(
                        new Moving.Alltoall("x", payload(4, 2), List.of(4L, 0L)),
                        new Moving.Alltoall("x", payload(1, 2), List.of(0L, 1L)))))
                .isEmpty();
    }

    @Test
    void theTwoHalvesOfATransferAreComparedByTypeDeviceAndShape() {
        Request send = new Moving.Send("t", payload(4), 1);
        assertThat(find(Arrays.asList(send, null, new Moving.Receive("t", payload(4), 0))))
                .isEmpty();
        assertThat(find(Arrays.asList(send, null, new Moving.Receive("t", payload(5), 0))))
                .hasValueSatisfying(text -> assertThat(text).contains("shape", "[4] on ranks {0}", "[5] on ranks {2}"));
        assertThat(find(List.of(send, new Moving.Receive("t", payload(4), 0).on(Device.cuda(1)))))
                .hasValueSatisfying(text -> assertThat(text).contains("device", "CPU on ranks {0}"));
    }

    @Test
    void groupsWithTheirNumbersOfOperations() {
        assertThat(oddOneOut(Requests.sum("a", 4), Requests.sum("a", 4, new Request.Group("g", 3))))
                .contains("group of operations", "none on ranks {0, 2}", "\"g\" of 3 on ranks {1}");
    }

    @Test
    void whatIsSaidAboutProcessSetsAndJoins() {
        assertThat(oddOneOut(new Request.RemoveProcessSet("s", 1), new Request.RemoveProcessSet("s", 2)))
                .contains("process set", "1 on ranks {0, 2}", "2 on ranks {1}");
        assertThat(oddOneOut(
                        new Request.AddProcessSet("s", List.of(0, 1)), new Request.AddProcessSet("s", List.of(0, 2))))
                .contains("members", "[0, 1] on ranks {0, 2}", "[0, 2] on ranks {1}");
        assertThat(oddOneOut(new Request.Join("j", JoinDivisor.ACTIVE), new Request.Join("j", JoinDivisor.INITIAL)))
                .contains("divisor", "ACTIVE on ranks {0, 2}", "INITIAL on ranks {1}");
    }
}
