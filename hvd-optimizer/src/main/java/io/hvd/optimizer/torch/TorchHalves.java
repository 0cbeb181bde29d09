package io.hvd.optimizer.torch;

import static org.bytedeco.pytorch.global.torch.zeros;

import io.hvd.tensor.HalfKernel;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.ShortBuffer;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.javacpp.ShortPointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Conversions of float16 by LibTorch's vector code, block by block through memory of its own. */
final class TorchHalves implements HalfKernel {
    private static final int BLOCK = 2048;
    /** The elements of a longer run that are converted by one call, whose way into LibTorch takes as long as some 2,000 of them. */
    private static final int LONG = 16_384;

    private final Tensor wide;
    private final Tensor narrow;
    private final FloatBuffer floats;
    private final ShortBuffer halves;

    private final Tensor longWide;
    private final Tensor longNarrow;
    private final ByteBuffer longBytes;
    private final ByteBuffer bytes;

    /** Allocates memory that no {@code PointerScope} of the calling thread frees. */
    TorchHalves() {
        try (PointerScope scope = new PointerScope()) {
            wide = block(ScalarType.Float, BLOCK);
            narrow = block(ScalarType.Half, BLOCK);
            floats = new FloatPointer(wide.data_ptr()).capacity(BLOCK).asBuffer();
            bytes = bytes(wide, BLOCK);
            halves = new ShortPointer(narrow.data_ptr()).capacity(BLOCK).asBuffer();
            longWide = block(ScalarType.Float, LONG);
            longNarrow = block(ScalarType.Half, LONG);
            longBytes = bytes(longWide, LONG);
        }
    }

    /** Its type is named, because a program may choose another default type of LibTorch's. */
    private static Tensor block(ScalarType type, int elements) {
        return zeros(new long[] {elements}, new TensorOptions(type)).retainReference();
    }

    private static ByteBuffer bytes(Tensor floats, long elements) {
        return new BytePointer(floats.data_ptr())
                .capacity(elements * Float.BYTES)
                .asByteBuffer();
    }

    /** Has hvd convert by LibTorch, which is loaded when there is an optimizer. */
    static void install() {
        HalfKernel.use(TorchHalves::new);
    }

    @Override
    public void narrow(float[] from, short[] to, int count) {
        for (int done = 0; done < count; done += BLOCK) {
            int run = Math.min(BLOCK, count - done);
            floats.put(0, from, done, run);
            narrow.copy_(wide);
            halves.get(0, to, done, run);
        }
    }

    @Override
    public void widen(short[] from, float[] to, int count) {
        for (int done = 0; done < count; done += BLOCK) {
            int run = Math.min(BLOCK, count - done);
            halves.put(0, from, done, run);
            wide.copy_(narrow);
            floats.get(0, to, done, run);
        }
    }

    @Override
    public void round(float[] values, int first, int count) {
        for (int done = 0; done < count; done += BLOCK) {
            int run = Math.min(BLOCK, count - done);
            floats.put(0, values, first + done, run);
            narrow.copy_(wide);
            wide.copy_(narrow);
            floats.get(0, values, first + done, run);
        }
    }

    @Override
    public void round(ByteBuffer from, ByteBuffer to, int count) {
        int inLong = count / LONG * LONG;
        for (int done = 0; done < inLong; done += LONG) {
            round(from, to, done, LONG, longBytes, longWide, longNarrow);
        }
        for (int done = inLong; done < count; done += BLOCK) {
            round(from, to, done, Math.min(BLOCK, count - done), bytes, wide, narrow);
        }
    }

    /** A tensor on the caller's memory would take longer to make than the numbers take to be copied. */
    private static void round(
            ByteBuffer from, ByteBuffer to, int first, int count, ByteBuffer memory, Tensor wide, Tensor narrow) {
        memory.put(0, from, first * Float.BYTES, count * Float.BYTES);
        narrow.copy_(wide);
        wide.copy_(narrow);
        to.put(first * Float.BYTES, memory, 0, count * Float.BYTES);
    }
}
