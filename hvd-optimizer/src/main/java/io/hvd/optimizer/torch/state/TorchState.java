package io.hvd.optimizer.torch.state;

import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.StateOwner;
import io.hvd.optimizer.StateSize;
import io.hvd.optimizer.torch.parameter.NamedParameters;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.zip.CRC32C;
import org.bytedeco.pytorch.Optimizer;

/**
 * The memory of a LibTorch optimizer as bytes. LibTorch's archive knows its parameters by their
 * number only, so a head is put before it that says whose state it is:
 *
 * <pre>
 * int  a mark
 * int  CRC-32C of all that follows, since LibTorch reads a damaged archive as it is
 * int  length of the words
 * ...  the words of a {@link StateOwner}, with the parameters in the order in which the archive numbers them
 * byte 1 if the optimizer has made a step, 0 if there is nothing to remember yet
 * ...  LibTorch's archive
 * </pre>
 *
 * States of hvd before there were marks begin with the length of the words; their parameters are in the order of the model's names.
 */
public final class TorchState implements SavedState {
    private static final String STEPPED = "stepped";
    private static final int SUMMED_FROM = 2 * Integer.BYTES;

    private final Optimizer optimizer;
    private final StateOwner owner;
    /** The words before there were marks. */
    private final StateOwner byNames;

    private final StateArchive archive;
    private final TorchBuffers buffers;
    private boolean stepped;

    /**
     * @param parameters in the order of the model's names
     * @param numbered a line of {@link StateOwner} for each parameter, in the order of the numbers in the archive
     * @param archive checks what LibTorch is to read
     */
    public TorchState(
            Optimizer optimizer,
            List<Parameter> parameters,
            List<String> numbered,
            StateArchive archive,
            TorchBuffers buffers) {
        this.optimizer = optimizer;
        this.owner = StateOwner.ofLines(kind(optimizer), numbered);
        this.byNames = StateOwner.of(kind(optimizer), parameters);
        this.archive = archive;
        this.buffers = buffers;
    }

    /** The state of one that steps the model's parameters, or float32 copies of them. */
    public static TorchState of(Optimizer optimizer, NamedParameters named, List<Parameter> parameters) {
        return of(optimizer, named, parameters, named.numbered(optimizer, parameters));
    }

    /** The state of one that steps a share of the parameters; the words are those of the whole. */
    public static TorchState ofShare(Optimizer optimizer, NamedParameters named, List<Parameter> parameters) {
        List<String> numbered = parameters.stream().map(StateOwner::line).toList();
        return of(optimizer, named, parameters, numbered);
    }

    private static TorchState of(
            Optimizer optimizer, NamedParameters named, List<Parameter> parameters, List<String> numbered) {
        StateArchive archive = new StateArchive(optimizer, named::nameOf);
        return new TorchState(
                optimizer, parameters, numbered, archive, new TorchBuffers(optimizer, named::nameOf, archive));
    }

    private static String kind(Optimizer optimizer) {
        return optimizer.getClass().getSimpleName();
    }

    @Override
    public void stepped() {
        stepped = true;
    }

    @Override
    public NamedState named() {
        NamedState found = buffers.state();
        SortedMap<String, String> words = new TreeMap<>(found.words());
        words.put(STEPPED, Boolean.toString(stepped));
        return new NamedState(found.tensors(), words);
    }

    @Override
    public void load(NamedState state) {
        boolean otherStepped = Boolean.parseBoolean(state.word(STEPPED));
        requireNothingToForget(otherStepped);
        buffers.load(state);
        stepped = otherStepped;
    }

    @Override
    public long fullBytes() {
        return buffers.fullBytes();
    }

    /** Bytes of the buffers that there are by now. */
    public long bytes() {
        return buffers.bytes();
    }

    @Override
    public byte[] save() {
        byte[] archived = TorchArchive.writeState(optimizer);
        byte[] words = owner.words().getBytes(StandardCharsets.UTF_8);
        long length = SUMMED_FROM + Integer.BYTES + words.length + 1L + archived.length;
        ByteBuffer bytes = ByteBuffer.allocate(StateSize.require(owner.kind(), length));
        bytes.putInt(StateOwner.Mark.TORCH.number()).putInt(0);
        bytes.putInt(words.length).put(words).put((byte) (stepped ? 1 : 0)).put(archived);
        return bytes.putInt(Integer.BYTES, sum(bytes.array())).array();
    }

    private static int sum(byte[] state) {
        CRC32C sum = new CRC32C();
        sum.update(state, SUMMED_FROM, state.length - SUMMED_FROM);
        return (int) sum.getValue();
    }

    @Override
    public void load(byte[] state) {
        Read read = read(state);
        requireNothingToForget(read.stepped);
        archive.load(read.archived, read.mayRepeat);
        stepped = read.stepped;
    }

    private void requireNothingToForget(boolean otherStepped) {
        if (stepped && !otherStepped) {
            throw StateOwner.mismatch(
                    "it is of an optimizer that has made no step, and LibTorch cannot forget the steps that this"
                            + " one has made; make a new one");
        }
    }

    /** @param mayRepeat whether the archive may name a parameter as often as modules share it */
    private record Read(byte[] archived, boolean stepped, boolean mayRepeat) {}

    private Read read(byte[] state) {
        StateOwner.Mark.TORCH.requireNoOther(state);
        ByteBuffer bytes = ByteBuffer.wrap(state);
        try {
            boolean marked = StateOwner.Mark.TORCH.begins(state);
            if (marked) {
                requireWhole(state, bytes.getInt(Integer.BYTES));
                bytes.position(SUMMED_FROM);
            }
            (marked ? owner : byNames).requireSame(words(bytes));
            boolean otherStepped = bytes.get() != 0;
            byte[] archived = new byte[bytes.remaining()];
            bytes.get(archived);
            return new Read(archived, otherStepped, !marked);
        } catch (BufferUnderflowException e) {
            throw StateOwner.mismatch("these " + state.length + " bytes are none");
        }
    }

    private static void requireWhole(byte[] state, int expected) {
        int found = state.length < SUMMED_FROM ? ~expected : sum(state);
        if (found != expected) {
            throw StateOwner.mismatch("its " + state.length + " bytes are damaged: their CRC-32C is "
                    + Integer.toHexString(found) + ", expected " + Integer.toHexString(expected));
        }
    }

    private static String words(ByteBuffer bytes) {
        int length = bytes.getInt();
        if (length < 0 || length > bytes.remaining()) {
            throw new BufferUnderflowException();
        }
        byte[] words = new byte[length];
        bytes.get(words);
        return new String(words, StandardCharsets.UTF_8);
    }
}
