package io.hvd.optimizer.djl;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.training.optimizer.Optimizer;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.NamedState;
import io.hvd.tensor.Tensor;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The memory of a DJL optimizer between steps, which DJL itself does not save, as tensors with names and as bytes: the number of updates, and for each
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
    private static final String UPDATES = "updates";

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

    /** The arrays, which are DJL's own, under the names of its fields, such as {@code means.01Linear_weight}. */
    NamedState named() {
        SortedMap<String, Tensor> tensors = new TreeMap<>();
        maps().forEach((field, map) -> slots.forEach(slot -> {
            NDArray array = array(map, slot);
            if (array != null) {
                tensors.put(NamedState.name(field, slot.name()), DjlTensors.alias(slot.name(), array));
            }
        }));
        return new NamedState(
                tensors,
                new TreeMap<>(Map.of(
                        NamedState.KIND, optimizer.getClass().getSimpleName(), UPDATES, String.valueOf(updates()))));
    }

    private static NDArray array(Map<String, Map<Device, NDArray>> map, ParameterSlot slot) {
        return map.getOrDefault(slot.id(), Map.of()).get(slot.value().getDevice());
    }

    /** Checks everything before anything is changed. */
    void load(NamedState state) {
        String kind = optimizer.getClass().getSimpleName();
        if (!state.word(NamedState.KIND).equals(kind)) {
            throw mismatch("it is of \"" + state.word(NamedState.KIND) + "\", this one is \"" + kind + "\"");
        }
        int updates = (int) Math.min(Integer.MAX_VALUE, state.whole(UPDATES));
        Map<Map<String, Map<Device, NDArray>>, Map<String, NDArray>> read = new IdentityHashMap<>();
        SortedMap<String, Tensor> left = new TreeMap<>(state.tensors());
        maps().forEach((field, map) -> {
            boolean any = slots.stream().anyMatch(slot -> left.containsKey(NamedState.name(field, slot.name())));
            Map<String, NDArray> arrays = new HashMap<>();
            for (ParameterSlot slot : any ? slots : List.<ParameterSlot>of()) {
                arrays.put(slot.id(), copy(slot, NamedState.name(field, slot.name()), left));
            }
            read.put(map, arrays);
        });
        if (!left.isEmpty()) {
            throw mismatch("it has \"" + left.firstKey() + "\", and this one keeps " + maps().keySet() + " of "
                    + slots.stream().map(ParameterSlot::name).toList());
        }
        read.forEach(OptimizerMemory::replace);
        count(updates);
    }

    private static NDArray copy(ParameterSlot slot, String name, SortedMap<String, Tensor> from) {
        Tensor saved = from.remove(name);
        Tensor own = slot.valueAlias();
        String expected = own.dtype() + "" + own.shape();
        String found = saved == null ? "missing" : saved.dtype() + "" + saved.shape();
        if (!found.equals(expected)) {
            throw mismatch("its array \"" + name + "\" is " + found + ", expected " + expected);
        }
        NDArray array = slot.value().zerosLike();
        DjlTensors.alias(slot.name(), array).copyFrom(saved);
        return array;
    }

    byte[] save() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            byte[] words = owner().getBytes(StandardCharsets.UTF_8);
            out.writeUTF("");
            out.writeInt(words.length);
            out.write(words);
            out.writeInt(updates());
            for (Map<String, Map<Device, NDArray>> map : maps().values()) {
                for (ParameterSlot slot : slots) {
                    write(array(map, slot), out);
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
            for (Map<String, Map<Device, NDArray>> map : maps().values()) {
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

    private void count(int updates) {
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
            throw mismatch("DJL's fields cannot be written (" + e + ")");
        }
    }

    /** The maps from a parameter's key to an array on each device, by the fields' names and in their order. */
    private Map<String, Map<String, Map<Device, NDArray>>> maps() {
        Map<String, Map<String, Map<Device, NDArray>>> maps = new LinkedHashMap<>();
        for (Field field : OptimizerFields.of(optimizer)) {
            if (field.getGenericType().getTypeName().contains(NDArray.class.getName())
                    && OptimizerFields.read(field, optimizer) instanceof Map<?, ?> map) {
                maps.put(field.getName(), asMap(map));
            }
        }
        return maps;
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
