package io.hvd.optimizer;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;

/**
 * Says in words whose state an optimizer's bytes are, so that a state of another kind of optimizer, or of other parameters, is refused
 * by name before any of its numbers is read. For makers of optimizers.
 *
 * @param words kind of the optimizer, then name, type and shape of each parameter, one per line
 */
public record StateOwner(String words) {
    /** The mark with which a state begins. Numbers that are negative begin no state of an hvd that knew no marks. */
    public enum Mark {
        /** An optimizer on plain arrays. */
        ARRAYS(0x8d4d4172, "an optimizer on plain arrays"),
        /** An optimizer that a program has written itself. */
        OWN(0x8d4d4f77, "an optimizer of a program's own"),
        /** A LibTorch optimizer. */
        TORCH(0x8d4d5453, "a LibTorch optimizer"),
        /** A LibTorch optimizer whose steps are made on float32 copies. */
        MASTERS(0x8d4d5753, "a LibTorch optimizer with MasterWeights"),
        /** One rank's shards of a model. */
        FULLY_SHARDED(0x8d4d4653, "a rank's shards of a FullyShard"),
        /** An optimizer and its scaler. */
        AMP(0x68766441, "an AmpOptimizer, which begins with its scaler's");

        private final int number;
        private final String words;

        Mark(int number, String words) {
            this.number = number;
            this.words = words;
        }

        /** The number that the state begins with. */
        public int number() {
            return number;
        }

        /** Whether a state begins with it. */
        public boolean begins(byte[] state) {
            return state.length >= Integer.BYTES && ByteBuffer.wrap(state).getInt() == number;
        }

        /** Requires that a state does not begin with another one. @throws HvdException that names both */
        public void requireNoOther(byte[] state) {
            Stream.of(values())
                    .filter(mark -> mark != this && mark.begins(state))
                    .findFirst()
                    .ifPresent(mark -> {
                        throw mismatch("it is the state of " + mark.words + ", expected that of " + words);
                    });
        }
    }

    /** The words for an optimizer of this kind. */
    public static StateOwner of(String kind, List<Parameter> parameters) {
        return ofLines(kind, parameters.stream().map(StateOwner::line).toList());
    }

    /** The words where some lines are not of a parameter that is trained. */
    public static StateOwner ofLines(String kind, List<String> lines) {
        return new StateOwner(
                String.join("\n", Stream.concat(Stream.of(kind), lines.stream()).toList()));
    }

    /** The facts of a parameter in the words. */
    public static String line(Parameter parameter) {
        return parameter.name() + " " + parameter.value().dtype()
                + parameter.value().shape();
    }

    /** Puts a mark and these words, with their length, before what the optimizer remembers. */
    public byte[] head(Mark mark, byte[] rest) {
        byte[] encoded = words.getBytes(StandardCharsets.UTF_8);
        return ByteBuffer.allocate(StateSize.require(kind(), 2L * Integer.BYTES + encoded.length + rest.length))
                .putInt(mark.number)
                .putInt(encoded.length)
                .put(encoded)
                .put(rest)
                .array();
    }

    /**
     * Takes away what {@link #head} has put before the rest.
     *
     * @throws HvdException if the state has another mark or other words, and names the first difference
     */
    public byte[] rest(Mark mark, byte[] state) {
        mark.requireNoOther(state);
        ByteBuffer bytes = ByteBuffer.wrap(state);
        if (!mark.begins(state) || state.length < 2 * Integer.BYTES) {
            throw mismatch("these " + state.length + " bytes do not say whose state they are, expected that of \""
                    + kind() + "\"");
        }
        int length = bytes.position(Integer.BYTES).getInt();
        if (length < 0 || length > bytes.remaining()) {
            throw mismatch("these " + state.length + " bytes are damaged: their words claim " + length
                    + " bytes of the " + bytes.remaining() + " that follow");
        }
        byte[] encoded = new byte[length];
        bytes.get(encoded);
        requireSame(new String(encoded, StandardCharsets.UTF_8));
        byte[] rest = new byte[bytes.remaining()];
        bytes.get(rest);
        return rest;
    }

    /** The first line. */
    public String kind() {
        return words.lines().findFirst().orElse("");
    }

    /** Requires that a state has the same words. @throws HvdException that names the first difference */
    public void requireSame(String saved) {
        List<String> found = saved.lines().toList();
        List<String> expected = words.lines().toList();
        for (int i = 0; i < Math.max(found.size(), expected.size()); i++) {
            String left = i < found.size() ? found.get(i) : "no more parameters";
            String right = i < expected.size() ? expected.get(i) : "no more parameters";
            if (!left.equals(right)) {
                throw mismatch("it is of \"" + left + "\" where this optimizer has \"" + right + "\"");
            }
        }
    }

    /** The error for a state that is another optimizer's, or damaged. */
    public static HvdException mismatch(String how) {
        return new HvdException(ErrorId.STATE_MISMATCH, "the optimizer state does not fit: " + how);
    }
}
