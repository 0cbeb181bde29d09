package io.hvd.benchmarks.kernels;

import io.hvd.tensor.DType;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Reducer;
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

/** Two stages become their sum, for every element type, beside a plain loop over two float[]. */
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
    private float[] left;
    private float[] right;

    @Setup
    public void allocate() {
        stages = List.of(
                ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder()),
                ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder()));
        left = new float[bytes / Float.BYTES];
        right = new float[bytes / Float.BYTES];
    }

    @Benchmark
    public void sum() {
        reducer.reduce(ReduceOp.SUM, wire, stages, 0, bytes / wire.bytes(), stages.get(0));
    }

    /** The same number of bytes, as floats. */
    @Benchmark
    public float[] opponent() {
        for (int i = 0; i < left.length; i++) {
            left[i] += right[i];
        }
        return left;
    }
}
