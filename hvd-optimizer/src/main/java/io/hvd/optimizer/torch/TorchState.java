package io.hvd.optimizer.torch;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.Parameter;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.Optimizer;

/**
 * What a LibTorch optimizer remembers, as bytes. LibTorch's archive knows its parameters by their
 * number only, so a head is put before it that says whose state it is:
 *
 * <pre>
 * int  length of the words
 * ...  kind of optimizer, then name and shape of each parameter, one per line
 * byte 1 if the optimizer has made a step, 0 if there is nothing to remember yet
 * ...  LibTorch's archive
 * </pre>
 */
final class TorchState {
    private final Optimizer optimizer;
    private final String owner;
    private boolean stepped;

    TorchState(Optimizer optimizer, List<Parameter> parameters) {
        this.optimizer = optimizer;
        StringBuilder words = new StringBuilder(optimizer.getClass().getSimpleName());
        parameters.forEach(parameter -> words.append('\n')
                .append(parameter.name())
                .append(' ')
                .append(parameter.value().dtype())
                .append(parameter.value().shape()));
        this.owner = words.toString();
    }

    /** The optimizer has made a step. */
    void stepped() {
        stepped = true;
    }

    byte[] save() {
        return headed(TorchArchive.writeState(optimizer));
    }

    /** A state with this archive. */
    byte[] headed(byte[] archive) {
        byte[] words = owner.getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(words.length);
            out.write(words);
            out.writeBoolean(stepped);
            out.write(archive);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    void load(byte[] state) {
        load(state, UnaryOperator.identity());
    }

    /** @param part takes from the state's archive the one that the optimizer reads */
    void load(byte[] state, UnaryOperator<byte[]> part) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(state))) {
            int length = in.readInt();
            if (length < 0 || length > in.available()) {
                throw mismatch("these " + state.length + " bytes are none", null);
            }
            requireSameOwner(new String(in.readNBytes(length), StandardCharsets.UTF_8));
            boolean otherStepped = in.readBoolean();
            if (stepped && !otherStepped) {
                throw mismatch(
                        "it is of an optimizer that has made no step, and LibTorch cannot forget the steps that this"
                                + " one has made; make a new one",
                        null);
            }
            TorchArchive.read(part.apply(in.readAllBytes()), optimizer::load);
            stepped = otherStepped;
        } catch (IOException e) {
            throw mismatch("these " + state.length + " bytes are none", e);
        }
    }

    private void requireSameOwner(String other) {
        List<String> found = other.lines().toList();
        List<String> expected = owner.lines().toList();
        for (int i = 0; i < Math.max(found.size(), expected.size()); i++) {
            String left = i < found.size() ? found.get(i) : "no more parameters";
            String right = i < expected.size() ? expected.get(i) : "no more parameters";
            if (!left.equals(right)) {
                throw mismatch("it is of \"" + left + "\" where this optimizer has \"" + right + "\"", null);
            }
        }
    }

    private static HvdException mismatch(String how, IOException cause) {
        return new HvdException(ErrorId.STATE_MISMATCH, "the optimizer state does not fit: " + how, cause);
    }
}
