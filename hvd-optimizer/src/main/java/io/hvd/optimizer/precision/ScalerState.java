package io.hvd.optimizer.precision;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.GradScaler;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.StateOwner;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** Reads the state of a {@link GradScaler}, and writes it in front of the state of its optimizer. */
public final class ScalerState {
    private static final List<String> NAMES =
            List.of("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker");

    /** The keys of the words begin with it. */
    public static final String PREFIX = "scaler.";

    private ScalerState() {}

    /** The scaler's words among those of an optimizer's state; none if it is disabled. @throws HvdException if there are none at all */
    public static Map<String, Double> of(NamedState state) {
        Map<String, Double> scaler = new TreeMap<>();
        state.words().keySet().stream()
                .filter(key -> key.startsWith(PREFIX))
                .forEach(key -> scaler.put(key.substring(PREFIX.length()), state.number(key)));
        return scaler;
    }

    /** The optimizer's state, without the scaler's words. */
    public static NamedState without(NamedState state) {
        SortedMap<String, String> words = new TreeMap<>(state.words());
        words.keySet().removeIf(key -> key.startsWith(PREFIX));
        return new NamedState(state.tensors(), words);
    }

    /** The settings that the state contains, each of them checked. */
    public static GradScaler.Builder builder(Map<String, Double> state) {
        requireComplete(state);
        try {
            return GradScaler.builder()
                    .initScale(state.get("scale"))
                    .growthFactor(state.get("growth_factor"))
                    .backoffFactor(state.get("backoff_factor"))
                    .growthInterval(whole(state, "growth_interval"));
        } catch (HvdException e) {
            throw mismatch("it has a number that is not allowed: " + e.getMessage(), e);
        }
    }

    public static int tracker(Map<String, Double> state) {
        int found = whole(state, "_growth_tracker");
        if (found < 0) {
            throw mismatch("its _growth_tracker is " + found + ", expected 0 or more", null);
        }
        return found;
    }

    private static int whole(Map<String, Double> state, String name) {
        double found = state.get(name);
        if (found != Math.rint(found) || Math.abs(found) > Integer.MAX_VALUE) {
            throw mismatch("its " + name + " is " + found + ", expected a whole number", null);
        }
        return (int) found;
    }

    private static void requireComplete(Map<String, Double> state) {
        if (state.isEmpty()) {
            throw mismatch("it is empty, as that of a disabled GradScaler is", null);
        }
        if (!state.keySet().containsAll(NAMES) || state.size() != NAMES.size()) {
            throw mismatch("it has " + new TreeMap<>(state).keySet() + ", expected " + NAMES, null);
        }
    }

    /** @return the scaler's state, and then the optimizer's */
    public static byte[] join(Map<String, Double> scaler, byte[] optimizer) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeInt(StateOwner.Mark.AMP.number());
            out.writeByte(scaler.size());
            for (Map.Entry<String, Double> entry : new TreeMap<>(scaler).entrySet()) {
                out.writeUTF(entry.getKey());
                out.writeDouble(entry.getValue());
            }
            out.write(optimizer);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    /** @param scaler gets the scaler's state @return the optimizer's */
    public static byte[] split(byte[] state, Map<String, Double> scaler) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(state))) {
            if (in.readInt() != StateOwner.Mark.AMP.number()) {
                throw new IOException("another beginning");
            }
            for (int left = in.readUnsignedByte(); left > 0; left--) {
                String name = in.readUTF();
                scaler.put(name, in.readDouble());
            }
            return in.readAllBytes();
        } catch (IOException e) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "the state of an AmpOptimizer begins with its scaler's, but these " + state.length + " bytes begin"
                            + " with " + Arrays.toString(Arrays.copyOf(state, Math.min(4, state.length)))
                            + ": it is damaged, or of an optimizer without mixed precision",
                    e);
        }
    }

    private static HvdException mismatch(String how, HvdException cause) {
        return new HvdException(ErrorId.STATE_MISMATCH, "the state of a GradScaler does not fit: " + how, cause);
    }
}
