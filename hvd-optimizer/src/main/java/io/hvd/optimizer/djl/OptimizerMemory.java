package io.hvd.optimizer.djl;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.training.optimizer.Optimizer;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The memory of a DJL optimizer between steps as bytes, which DJL itself does not save: the number of updates, and for each
 * parameter an array for each of its maps, such as the momentum. DJL's keys are new in each run, so that the parameters go by their order.
 *
 * <pre>
 * UTF  empty
 * int  length of the words
 * ...  kind of optimizer, then name and shape of each parameter, one per line
 * int  number of updates
 * for each map and each parameter: int length, or -1 if there is no array yet, then the array as DJL encodes it
 * </pre>
 *
 * Older states begin with the words as UTF, which has room for 65,535 bytes.
 */
final class OptimizerMemory {
    private final Optimizer optimizer;
    private final List<ParameterSlot> slots;
    /** It is read in every step. */
    private final Optional<Field> updates;

    OptimizerMemory(Optimizer optimizer, List<ParameterSlot> slots) {
        this.optimizer = optimizer;
        this.slots = slots;
        this.updates = OptimizerFields.ofOptimizer(optimizer, OptimizerFields.UPDATES);
    }

    int updates() {
        return updates.map(field -> (Integer) OptimizerFields.read(field, optimizer))
                .orElse(0);
    }

    byte[] save() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            byte[] words = owner().getBytes(StandardCharsets.UTF_8);
            out.writeUTF("");
            out.writeInt(words.length);
            out.write(words);
            out.writeInt(updates());
            for (Map<String, Map<Device, NDArray>> map : maps()) {
                for (ParameterSlot slot : slots) {
                    Map<Device, NDArray> arrays = map.getOrDefault(slot.id(), Map.of());
                    write(arrays.get(slot.value().getDevice()), out);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    private static void write(NDArray array, DataOutputStream out) throws IOException {
        byte[] encoded = array == null ? new byte[0] : array.encode();
        out.writeInt(array == null ? -1 : encoded.length);
        out.write(encoded);
    }

    /** Reads everything before anything is changed. */
    void load(byte[] state) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(state))) {
            String other = words(in);
            if (!other.equals(owner())) {
                throw mismatch("it is of \"" + other.replace("\n", ", ") + "\", this one is \""
                        + owner().replace("\n", ", ") + "\"");
            }
            int updates = in.readInt();
            if (updates < 0) {
                throw mismatch("it has made " + updates + " updates, expected 0 or more");
            }
            Map<Map<String, Map<Device, NDArray>>, Map<String, NDArray>> read = new IdentityHashMap<>();
            for (Map<String, Map<Device, NDArray>> map : maps()) {
                read.put(map, read(in));
            }
            if (in.available() > 0) {
                throw new IOException(in.available() + " bytes are left behind its arrays");
            }
            read.forEach(OptimizerMemory::replace);
            count(updates);
        } catch (HvdException e) {
            throw e;
        } catch (IOException | RuntimeException e) { // DJL's decoder throws what it comes upon
            throw mismatch("these " + state.length + " bytes are none (" + e + ")");
        }
    }

    private static String words(DataInputStream in) throws IOException {
        String older = in.readUTF();
        if (!older.isEmpty()) {
            return older;
        }
        int length = in.readInt();
        if (length < 0 || length > in.available()) {
            throw new IOException("its words claim " + length + " bytes of the " + in.available() + " that follow");
        }
        return new String(in.readNBytes(length), StandardCharsets.UTF_8);
    }

    private Map<String, NDArray> read(DataInputStream in) throws IOException {
        Map<String, NDArray> arrays = new HashMap<>();
        for (ParameterSlot slot : slots) {
            int length = in.readInt();
            if (length < -1 || length > in.available()) {
                throw new IOException("it ends within the array of \"" + slot.name() + "\"");
            }
            if (length >= 0) {
                NDManager manager = slot.value().getManager();
                NDArray array = NDArray.decode(manager, in.readNBytes(length));
                requireLike(slot, array);
                arrays.put(slot.id(), array);
            }
        }
        return arrays;
    }

    private static void requireLike(ParameterSlot slot, NDArray array) {
        String found = array.getDataType() + "" + array.getShape();
        String expected = slot.value().getDataType() + "" + slot.value().getShape();
        if (!found.equals(expected)) {
            throw mismatch("its array of \"" + slot.name() + "\" is " + found + ", expected " + expected);
        }
    }

    private static void replace(Map<String, Map<Device, NDArray>> map, Map<String, NDArray> arrays) {
        map.values().forEach(old -> old.values().forEach(NDArray::close));
        map.clear();
        arrays.forEach((id, array) -> {
            array.detach(); // as DJL's own, which end with the optimizer
            map.put(id, new ConcurrentHashMap<>(Map.of(array.getDevice(), array)));
        });
    }

    private void count(int updates) throws IOException {
        try {
            for (Field field : OptimizerFields.of(optimizer)) {
                if (field.getName().equals(OptimizerFields.UPDATES)) {
                    field.setInt(optimizer, updates);
                } else if (field.getName().equals("updateCounts")) {
                    Map<String, Integer> counts = asMap(OptimizerFields.read(field, optimizer));
                    slots.forEach(slot -> counts.put(slot.id(), updates));
                }
            }
        } catch (IllegalAccessException e) {
            throw new IOException(e);
        }
    }

    /** The maps from a parameter's key to an array on each device, in the order of the fields. */
    private List<Map<String, Map<Device, NDArray>>> maps() {
        return OptimizerFields.of(optimizer).stream()
                .filter(field -> field.getGenericType().getTypeName().contains(NDArray.class.getName()))
                .map(field -> OptimizerFields.read(field, optimizer))
                .filter(Map.class::isInstance)
                .map(OptimizerMemory::<Map<Device, NDArray>>asMap)
                .toList();
    }

    @SuppressWarnings("unchecked") // the field's declared type says so
    private static <V> Map<String, V> asMap(Object map) {
        return (Map<String, V>) map;
    }

    private String owner() {
        StringBuilder words = new StringBuilder(optimizer.getClass().getSimpleName());
        slots.forEach(slot -> words.append('\n')
                .append(slot.name())
                .append(' ')
                .append(slot.valueAlias().shape()));
        return words.toString();
    }

    private static HvdException mismatch(String how) {
        return new HvdException(ErrorId.STATE_MISMATCH, "the state of DJL's optimizer does not fit: " + how);
    }
}
