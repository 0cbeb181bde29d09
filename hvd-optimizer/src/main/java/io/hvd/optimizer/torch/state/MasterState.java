package io.hvd.optimizer.torch.state;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.StateOwner;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;

/**
 * The state of an optimizer with master weights: they come before what the LibTorch optimizer remembers.
 *
 * <pre>
 * int     a mark, no possible beginning of an optimizer's own state
 * long    number of master weights
 * float[] their values, in the order of the parameters
 * ...     the optimizer's state
 * </pre>
 */
public final class MasterState {
    private static final int HEAD = Integer.BYTES + Long.BYTES;

    private MasterState() {}

    public static byte[] join(List<Parameter> masters, byte[] state) {
        long values = elements(masters);
        ByteBuffer bytes =
                ByteBuffer.allocate(Math.toIntExact(Math.addExact(HEAD + state.length, values * Float.BYTES)));
        bytes.putInt(StateOwner.Mark.MASTERS.number()).putLong(values);
        for (Parameter master : masters) {
            float[] floats = master.value().toFloatArray();
            bytes.asFloatBuffer().put(floats);
            bytes.position(bytes.position() + floats.length * Float.BYTES);
        }
        return bytes.put(state).array();
    }

    /** The part behind the master weights. */
    public static byte[] optimizers(List<Parameter> masters, byte[] state) {
        return Arrays.copyOfRange(state, checked(masters, state), state.length);
    }

    /** Overwrites the master weights. */
    public static void load(List<Parameter> masters, byte[] state) {
        ByteBuffer bytes = ByteBuffer.wrap(state, HEAD, checked(masters, state) - HEAD);
        for (Parameter master : masters) {
            float[] floats = new float[Math.toIntExact(master.value().elements())];
            bytes.asFloatBuffer().get(floats);
            bytes.position(bytes.position() + floats.length * Float.BYTES);
            master.value()
                    .copyFrom(Tensor.wrap(floats, DType.FLOAT32, master.value().shape()));
        }
    }

    /** @return where the master weights end */
    private static int checked(List<Parameter> masters, byte[] state) {
        ByteBuffer bytes = ByteBuffer.wrap(state);
        long expected = elements(masters);
        boolean hasMasters = state.length >= HEAD && StateOwner.Mark.MASTERS.begins(state);
        long found = hasMasters ? bytes.getLong(Integer.BYTES) : 0;
        if (found != expected || (state.length - HEAD) / Float.BYTES < found) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "the optimizer state does not fit: it has " + found + " master weights, expected " + expected
                            + (found == 0
                                    ? "; an optimizer without MasterWeights has written it, or none at all"
                                    : ""));
        }
        return Math.toIntExact(HEAD + found * Float.BYTES);
    }

    private static long elements(List<Parameter> masters) {
        return masters.stream().mapToLong(master -> master.value().elements()).sum();
    }
}
