package io.hvd.benchmarks.kernels;

import io.hvd.kernel.Reducer;
import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Sums of two stages, for every element type. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class ReduceKernels {
    @Param({"65536", "16777216"})
    public int bytes;

    @Param({"FLOAT32", "FLOAT64", "FLOAT16", "BFLOAT16", "INT8", "INT32", "INT64"})
    public DType wire;

    private final Reducer reducer = new Reducer();
    private List<ByteBuffer> stages;

    @Setup
    public void allocate() {
        stages = List.of(
                ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder()),
                ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder()));
    }

    @Benchmark
    public void sum() {
        reducer.reduce(ReduceOp.SUM, wire, stages, 0, bytes / wire.bytes(), stages.get(0));
    }
}
