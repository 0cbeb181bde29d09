package io.hvd.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.tensor.DType;
import io.hvd.tensor.Device;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
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
}
