package io.hvd.benchmarks.kernels;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Plain Java with as many bytes: the opponents of the other kernels. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class PlainKernels {
    @Param({"65536", "16777216"})
    public int bytes;

    private float[] left;
    private float[] right;
    private FloatBuffer direct;

    @Setup
    public void allocate() {
        left = new float[bytes / Float.BYTES];
        right = new float[bytes / Float.BYTES];
        direct = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder()).asFloatBuffer();
    }

    @Benchmark
    public FloatBuffer copy() {
        return direct.put(0, left);
    }

    @Benchmark
    public float[] add() {
        for (int i = 0; i < left.length; i++) {
            left[i] += right[i];
        }
        return left;
    }
}
