package io.hvd.benchmarks.kernels;

import io.hvd.kernel.Converter;
import io.hvd.kernel.Scale;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Copies between a float[] and the stage, unchanged or as 16-bit floats. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class CopyKernels {
    /** Numbers of bytes, the second of which does not fit into the caches of most machines. */
    @Param({"65536", "16777216"})
    public int bytes;

    @Param({"FLOAT32", "FLOAT16", "BFLOAT16"})
    public DType wire;

    private final Converter converter = new Converter();
    private float[] array;
    private Tensor tensor;
    private ByteBuffer stage;

    @Setup
    public void allocate() {
        array = new float[bytes / Float.BYTES];
        for (int i = 0; i < array.length; i++) {
            array[i] = (i % 1000) / 7f;
        }
        tensor = Tensor.wrap(array, DType.FLOAT32, Shape.of(array.length));
        stage = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
        converter.pack(tensor, 0, array.length, stage, 0, wire, 1.0);
    }

    @Benchmark
    public void pack() {
        converter.pack(tensor, 0, array.length, stage, 0, wire, 1.0);
    }

    @Benchmark
    public void packScaled() {
        converter.pack(tensor, 0, array.length, stage, 0, wire, 0.5);
    }

    @Benchmark
    public void unpack() {
        converter.unpack(stage, 0, wire, tensor, 0, array.length, Scale.ONE);
    }

    @Benchmark
    public void unpackScaled() {
        converter.unpack(stage, 0, wire, tensor, 0, array.length, Scale.by(1.0000001));
    }
}
