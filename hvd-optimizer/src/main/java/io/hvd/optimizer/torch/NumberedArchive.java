package io.hvd.optimizer.torch;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.OutputArchive;
import org.bytedeco.pytorch.StringVector;

/**
 * Copies the archive of an optimizer so that equal states become equal bytes. LibTorch names the state
 * of a parameter by the parameter's address, and writes the states in the order of a hash table. In the
 * copy parameters are numbered from 1 in the order of their groups, and everything is sorted by name.
 * LibTorch reads both: it takes the names for mere names.
 */
final class NumberedArchive {
    private static final String PARAMETER_OF_GROUP = "params/";

    private final Map<String, String> numbers = new HashMap<>();

    private NumberedArchive() {}

    static void copy(InputArchive from, OutputArchive to) {
        NumberedArchive archive = new NumberedArchive();
        archive.number(from);
        archive.write(from, to);
    }

    private void number(InputArchive from) {
        for (String key : keys(from)) {
            IValue value = value(from, key);
            if (value.isModule()) {
                number(child(from, key));
            } else if (key.startsWith(PARAMETER_OF_GROUP) && value.isString()) {
                numbers.put(value.toStringRef().getString(), String.valueOf(numbers.size() + 1));
            }
        }
    }

    private void write(InputArchive from, OutputArchive to) {
        Map<String, String> sorted = new TreeMap<>();
        for (String key : keys(from)) {
            sorted.put(numbers.getOrDefault(key, key), key);
        }
        sorted.forEach((name, key) -> writeEntry(from, key, to, name));
    }

    private void writeEntry(InputArchive from, String key, OutputArchive to, String name) {
        IValue value = value(from, key);
        if (value.isModule()) {
            OutputArchive child = new OutputArchive(to.compilation_unit());
            write(child(from, key), child);
            to.write(name, child);
        } else if (value.isTensor()) {
            to.write(name, value.toTensor());
        } else if (value.isString()) {
            String text = value.toStringRef().getString();
            to.write(name, new IValue(numbers.getOrDefault(text, text)));
        } else {
            to.write(name, value);
        }
    }

    static String[] keys(InputArchive archive) {
        StringVector keys = archive.keys();
        String[] names = new String[Math.toIntExact(keys.size())];
        for (int i = 0; i < names.length; i++) {
            names[i] = keys.get(i).getString();
        }
        return names;
    }

    static IValue value(InputArchive archive, String key) {
        IValue value = new IValue();
        archive.read(key, value);
        return value;
    }

    static InputArchive child(InputArchive archive, String key) {
        InputArchive child = new InputArchive();
        archive.read(key, child);
        return child;
    }
}
