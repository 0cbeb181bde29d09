package io.hvd.optimizer.torch.state;

import io.hvd.optimizer.StateOwner;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.OutputArchive;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.StringVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * Copies the archive of an optimizer so that equal states become equal bytes. LibTorch names the state
 * of a parameter by the parameter's address, and writes the states in the order of a hash table. In the
 * copy parameters are numbered from 1 in the order of their groups, and everything is sorted by name. A parameter that a group
 * names again has one number and one place.
 * LibTorch reads both: it takes the names for mere names.
 */
public final class NumberedArchive {
    /** The beginning of the names of a group's parameters, which are numbered in the order of the group. */
    private static final String PARAMETER_OF_GROUP = "params/";

    private static final String SIZE_OF_GROUP = PARAMETER_OF_GROUP + "size";

    private final Map<String, String> numbers = new HashMap<>();

    private NumberedArchive() {}

    static void copy(InputArchive from, OutputArchive to) {
        NumberedArchive archive = new NumberedArchive();
        archive.number(from);
        archive.write(from, to);
    }

    /** The number of each parameter, by what the archive calls it. */
    static Map<String, String> numbers(InputArchive archive) {
        NumberedArchive read = new NumberedArchive();
        read.number(archive);
        return read.numbers;
    }

    /** Whether a parameter stands several times in the groups. */
    static boolean repeats(InputArchive archive) {
        NumberedArchive read = new NumberedArchive();
        try (PointerScope scope = new PointerScope()) {
            return read.number(archive) > read.numbers.size();
        }
    }

    /** @return the number of places in the groups */
    private int number(InputArchive from) {
        int places = 0;
        if (has(from, SIZE_OF_GROUP)) {
            List<String> members = members(from);
            members.forEach(member -> numbers.putIfAbsent(member, String.valueOf(numbers.size() + 1)));
            return members.size();
        }
        for (String key : keys(from)) {
            if (value(from, key).isModule()) {
                places += number(child(from, key));
            }
        }
        return places;
    }

    /** The parameters of a group, as the archive calls them, in their order. */
    private static List<String> members(InputArchive group) {
        List<String> members = new ArrayList<>();
        Set<String> keys = Set.of(keys(group));
        for (int i = 0; keys.contains(PARAMETER_OF_GROUP + i); i++) {
            IValue value = value(group, PARAMETER_OF_GROUP + i);
            if (!value.isString()) {
                throw StateOwner.mismatch("\"" + PARAMETER_OF_GROUP + i + "\" of its archive is a "
                        + value.tagKind().getString() + ", expected a string");
            }
            members.add(value.toStringRef().getString());
        }
        return members;
    }

    private void write(InputArchive from, OutputArchive to) {
        TreeMap<String, Runnable> sorted = new TreeMap<>();
        boolean isGroup = has(from, SIZE_OF_GROUP);
        for (String key : keys(from)) {
            if (!isGroup || !key.startsWith(PARAMETER_OF_GROUP)) {
                String name = numbers.getOrDefault(key, key);
                sorted.put(name, () -> writeEntry(from, key, to, name));
            }
        }
        if (isGroup) {
            addMembers(members(from).stream().distinct().map(numbers::get).toList(), to, sorted);
        }
        sorted.values().forEach(Runnable::run);
    }

    /** Adds the entries of a group that name its parameters. */
    private static void addMembers(List<String> members, OutputArchive to, Map<String, Runnable> sorted) {
        for (int i = 0; i < members.size(); i++) {
            String key = PARAMETER_OF_GROUP + i;
            IValue number = new IValue(members.get(i));
            sorted.put(key, () -> to.write(key, number));
        }
        Tensor size =
                torch.full(new long[0], new Scalar((long) members.size()), new TensorOptions(torch.ScalarType.Long));
        sorted.put(SIZE_OF_GROUP, () -> to.write(SIZE_OF_GROUP, size));
    }

    private void writeEntry(InputArchive from, String key, OutputArchive to, String name) {
        IValue value = value(from, key);
        if (value.isModule()) {
            OutputArchive child = new OutputArchive(to.compilation_unit());
            write(child(from, key), child);
            to.write(name, child);
        } else {
            write(value, to, name);
        }
    }

    /** Copies an entry as it is, and what is inside of it in the order of the names. */
    static void copy(InputArchive from, String key, OutputArchive to, String name) {
        IValue value = value(from, key);
        if (value.isModule()) {
            InputArchive child = child(from, key);
            OutputArchive copy = new OutputArchive(to.compilation_unit());
            for (String inner : new TreeSet<>(List.of(keys(child)))) {
                copy(child, inner, copy, inner);
            }
            to.write(name, copy);
        } else {
            write(value, to, name);
        }
    }

    private static void write(IValue value, OutputArchive to, String name) {
        if (value.isTensor()) {
            to.write(name, value.toTensor());
        } else {
            to.write(name, value);
        }
    }

    public static boolean has(InputArchive archive, String key) {
        return Arrays.asList(keys(archive)).contains(key);
    }

    public static String[] keys(InputArchive archive) {
        StringVector keys = archive.keys();
        String[] names = new String[Math.toIntExact(keys.size())];
        for (int i = 0; i < names.length; i++) {
            names[i] = keys.get(i).getString();
        }
        return names;
    }

    public static IValue value(InputArchive archive, String key) {
        IValue value = new IValue();
        archive.read(key, value);
        return value;
    }

    public static InputArchive child(InputArchive archive, String key) {
        InputArchive child = new InputArchive();
        archive.read(key, child);
        return child;
    }
}
