package io.hvd.optimizer.torch.memory;

import static org.bytedeco.pytorch.global.torch.zeros;

import io.hvd.kernel.HalfKernel;
import java.nio.FloatBuffer;
import java.nio.ShortBuffer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.javacpp.ShortPointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Conversions of float16 by LibTorch's vector code, block by block through memory of its own. */
public final class TorchHalves implements HalfKernel {
    /** LibTorch shares a copy between threads only from 32,768 elements on. */
    private static final int BLOCK = 2048;

    private final Tensor wide;
    private final Tensor narrow;
    private final FloatBuffer floats;
    private final ShortBuffer halves;

    /** Allocates memory that no {@code PointerScope} of the calling thread frees. */
    TorchHalves() {
        try (PointerScope scope = new PointerScope()) {
            wide = block(ScalarType.Float);
            narrow = block(ScalarType.Half);
            floats = new FloatPointer(wide.data_ptr()).capacity(BLOCK).asBuffer();
            halves = new ShortPointer(narrow.data_ptr()).capacity(BLOCK).asBuffer();
        }
    }

    /** Its type is named, because a program may choose another default type of LibTorch's. */
    private static Tensor block(ScalarType type) {
        return zeros(new long[] {BLOCK}, new TensorOptions(type)).retainReference();
    }

    /** Has hvd convert by LibTorch, which is loaded when there is an optimizer. */
    public static void install() {
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
}
