package io.hvd.optimizer.torch.state;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.StateOwner;
import io.hvd.optimizer.StateSize;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

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
public final class MasterState implements SavedState {
    private static final String MASTER = "master";
    private static final int HEAD = Integer.BYTES + Long.BYTES;

    private final List<Parameter> masters;
    private final SavedState optimizer;

    /** @param optimizer what the LibTorch optimizer remembers */
    public MasterState(List<Parameter> masters, SavedState optimizer) {
        this.masters = masters;
        this.optimizer = optimizer;
    }

    @Override
    public void stepped() {
        optimizer.stepped();
    }

    /** Changes nothing if either part does not fit. */
    @Override
    public void load(byte[] state) {
        int end = checked(state);
        optimizer.load(Arrays.copyOfRange(state, end, state.length));
        overwrite(ByteBuffer.wrap(state, HEAD, end - HEAD));
    }

    @Override
    public byte[] save() {
        byte[] state = optimizer.save();
        long values = elements();
        ByteBuffer bytes = ByteBuffer.allocate(StateSize.require(
                "a LibTorch optimizer with MasterWeights", HEAD + state.length + values * Float.BYTES));
        bytes.putInt(StateOwner.Mark.MASTERS.number()).putLong(values);
        for (Parameter master : masters) {
            float[] floats = master.value().toFloatArray();
            bytes.asFloatBuffer().put(floats);
            bytes.position(bytes.position() + floats.length * Float.BYTES);
        }
        return bytes.put(state).array();
    }

    /** The copies are the tensors {@code master.NAME}. */
    @Override
    public NamedState named() {
        NamedState inside = optimizer.named();
        SortedMap<String, Tensor> tensors = new TreeMap<>(inside.tensors());
        tensors.putAll(copies());
        return new NamedState(tensors, inside.words());
    }

    private SortedMap<String, Tensor> copies() {
        SortedMap<String, Tensor> copies = new TreeMap<>();
        masters.forEach(master -> copies.put(NamedState.name(MASTER, master.name()), master.value()));
        return copies;
    }

    @Override
    public void load(NamedState state) {
        SortedMap<String, Tensor> found = new TreeMap<>(state.tensors());
        SortedMap<String, Tensor> others = new TreeMap<>(state.tensors());
        found.keySet().removeIf(name -> !name.startsWith(MASTER + "."));
        others.keySet().removeAll(found.keySet());
        SortedMap<String, Tensor> own = copies();
        new NamedState(found, state.words()).requireLike(new NamedState(own, state.words()));
        optimizer.load(new NamedState(others, state.words()));
        own.forEach((name, copy) -> copy.copyFrom(found.get(name)));
    }

    @Override
    public long fullBytes() {
        return optimizer.fullBytes()
                + masters.stream().mapToLong(master -> master.value().bytes()).sum();
    }

    private void overwrite(ByteBuffer bytes) {
        for (Parameter master : masters) {
            float[] floats = new float[Math.toIntExact(master.value().elements())];
            bytes.asFloatBuffer().get(floats);
            bytes.position(bytes.position() + floats.length * Float.BYTES);
            master.value()
                    .copyFrom(Tensor.wrap(floats, DType.FLOAT32, master.value().shape()));
        }
    }

    /** @return where the master weights end */
    private int checked(byte[] state) {
        ByteBuffer bytes = ByteBuffer.wrap(state);
        long expected = elements();
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

    private long elements() {
        return masters.stream().mapToLong(master -> master.value().elements()).sum();
    }
}
