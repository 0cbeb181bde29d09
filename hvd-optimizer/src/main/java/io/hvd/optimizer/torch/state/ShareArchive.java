package io.hvd.optimizer.torch.state;

import io.hvd.optimizer.JoinedShares;
import io.hvd.optimizer.StateSize;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.OutputArchive;

/**
 * Puts the archives of shares together to that of an optimizer over all parameters, and takes shares from it. All are of the form
 * that {@link NumberedArchive} writes, with one parameter group:
 * <pre>
 * state/NUMBER/...                            buffers of the parameter with this number, from 1
 * param_groups/param_groups/0/params/size     number of parameters
 * param_groups/param_groups/0/params/INDEX    number of a parameter
 * param_groups/param_groups/0/options/...
 * </pre>
 */
public final class ShareArchive {
    private static final String STATE = "state";
    private static final String GROUPS = "param_groups";
    private static final String GROUP = "param_groups/0";

    /** Where the buffers of one parameter are; the archive is null if there are none. */
    private record Source(InputArchive archive, String number) {}

    private ShareArchive() {}

    /** @param saved the archive of a whole, from which comes what no share has; null if that has no buffers */
    public static byte[] join(JoinedShares joined, byte[] saved) {
        try (PointerScope scope = new PointerScope()) {
            List<InputArchive> archives = new ArrayList<>();
            joined.shares().forEach(share -> archives.add(share == null ? null : open(share)));
            InputArchive whole = saved == null ? null : open(saved);
            List<Source> sources = new ArrayList<>();
            int[] places = joined.places();
            for (int i = 0; i < places.length; i++) {
                InputArchive share = archives.get(joined.owners()[i]);
                sources.add(share == null ? source(whole, i) : source(share, places[i]));
            }
            return write(archives.get(joined.first()), sources);
        }
    }

    /** @param place from 0 */
    private static Source source(InputArchive archive, int place) {
        return new Source(archive, String.valueOf(place + 1));
    }

    public static byte[] part(byte[] whole, int[] owners, int rank) {
        try (PointerScope scope = new PointerScope()) {
            InputArchive archive = open(whole);
            List<Source> sources = new ArrayList<>();
            for (int i = 0; i < owners.length; i++) {
                if (owners[i] == rank) {
                    sources.add(source(archive, i));
                }
            }
            return write(archive, sources);
        }
    }

    /** Bytes of the tensors that all parameters have there. */
    public static long stateBytes(byte[] archive) {
        try (PointerScope scope = new PointerScope()) {
            InputArchive opened = open(archive);
            return NumberedArchive.has(opened, STATE) ? bytes(NumberedArchive.child(opened, STATE)) : 0;
        }
    }

    private static long bytes(InputArchive archive) {
        long sum = 0;
        for (String key : NumberedArchive.keys(archive)) {
            IValue value = NumberedArchive.value(archive, key);
            if (value.isModule()) {
                sum += bytes(NumberedArchive.child(archive, key));
            } else if (value.isTensor() && value.toTensor().defined()) {
                sum += value.toTensor().nbytes();
            }
        }
        return sum;
    }

    private static InputArchive open(byte[] bytes) {
        InputArchive archive = new InputArchive();
        archive.load_from(new BytePointer(bytes), bytes.length);
        return archive;
    }

    private static byte[] write(InputArchive template, List<Source> sources) {
        return TorchArchive.write(
                out -> {
                    for (String key : sorted(template)) {
                        if (key.equals(STATE)) {
                            writeStates(sources, out);
                        } else if (key.equals(GROUPS)) {
                            OutputArchive groups = new OutputArchive(out.compilation_unit());
                            writeGroups(NumberedArchive.child(template, key), sources.size(), groups);
                            out.write(key, groups);
                        } else {
                            copy(template, key, out, key);
                        }
                    }
                },
                StateSize.LARGEST);
    }

    private static void writeStates(List<Source> sources, OutputArchive out) {
        TreeMap<String, Source> byNumber = new TreeMap<>();
        for (int i = 0; i < sources.size(); i++) {
            Source source = sources.get(i);
            if (source.archive != null
                    && NumberedArchive.has(source.archive, STATE)
                    && NumberedArchive.has(NumberedArchive.child(source.archive, STATE), source.number)) {
                byNumber.put(String.valueOf(i + 1), source);
            }
        }
        OutputArchive states = new OutputArchive(out.compilation_unit());
        byNumber.forEach(
                (number, source) -> copy(NumberedArchive.child(source.archive, STATE), source.number, states, number));
        out.write(STATE, states);
    }

    private static void writeGroups(InputArchive from, int members, OutputArchive out) {
        for (String key : sorted(from)) {
            if (key.equals(GROUP)) {
                OutputArchive group = new OutputArchive(out.compilation_unit());
                writeGroup(NumberedArchive.child(from, key), members, group);
                out.write(key, group);
            } else {
                copy(from, key, out, key);
            }
        }
    }

    /** The buffers in the order of the names, as everywhere, so that equal states are equal bytes. */
    private static void writeGroup(InputArchive from, int members, OutputArchive out) {
        TreeMap<String, Runnable> entries = new TreeMap<>();
        for (String key : NumberedArchive.keys(from)) {
            if (!key.startsWith(NumberedArchive.PARAMETER_OF_GROUP)) {
                entries.put(key, () -> copy(from, key, out, key));
            }
        }
        List<String> numbers =
                IntStream.rangeClosed(1, members).mapToObj(String::valueOf).toList();
        NumberedArchive.addMembers(numbers, out, entries);
        entries.values().forEach(Runnable::run);
    }

    static void copy(InputArchive from, String key, OutputArchive to, String name) {
        IValue value = NumberedArchive.value(from, key);
        if (value.isModule()) {
            InputArchive child = NumberedArchive.child(from, key);
            OutputArchive copy = new OutputArchive(to.compilation_unit());
            for (String inner : sorted(child)) {
                copy(child, inner, copy, inner);
            }
            to.write(name, copy);
        } else if (value.isTensor()) {
            to.write(name, value.toTensor());
        } else {
            to.write(name, value);
        }
    }

    private static String[] sorted(InputArchive archive) {
        String[] keys = NumberedArchive.keys(archive);
        Arrays.sort(keys);
        return keys;
    }
}
