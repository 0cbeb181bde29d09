package io.hvd.optimizer;

import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/**
 * What the steps of an optimizer have changed, of any size: a tensor for each buffer of each parameter, under torch's name of the buffer
 * and the parameter's name, such as {@code exp_avg.layer1.weight}, and words such as the number of steps. An optimizer that knows no
 * names has one tensor, {@code state}, of the bytes of {@link Optimizer#saveState}.
 *
 * @param tensors in the host's memory, which may be the optimizer's own: they change with its next step
 * @param words by key
 */
public record NamedState(SortedMap<String, Tensor> tensors, SortedMap<String, String> words) {
    private static final String BYTES = "state";
    /** The word for the kind of optimizer and its buffers. */
    public static final String KIND = "kind";

    public NamedState {
        tensors = Collections.unmodifiableSortedMap(tensors);
        words = Collections.unmodifiableSortedMap(words);
    }

    /** That of an optimizer that knows no names. */
    public static NamedState ofBytes(byte[] state) {
        return new NamedState(new TreeMap<>(Map.of(BYTES, Tensor.ofBytes(state))), new TreeMap<>());
    }

    /** The bytes of {@link #ofBytes}; empty if the tensors have names. */
    public Optional<byte[]> bytes() {
        Tensor all = tensors.get(BYTES);
        return all != null && all.dtype() == DType.UINT8 && tensors.size() == 1
                ? Optional.of((byte[]) all.toArray())
                : Optional.empty();
    }

    /** A state with tensors of its own, which no step changes. */
    public NamedState copy() {
        SortedMap<String, Tensor> copies = new TreeMap<>();
        tensors.forEach((name, tensor) -> {
            Tensor copy = Tensor.zeros(tensor.dtype(), tensor.shape());
            copy.copyFrom(tensor);
            copies.put(name, copy);
        });
        return new NamedState(copies, words);
    }

    /** The tensors of all, and the words of the first. */
    public static NamedState union(List<NamedState> parts) {
        SortedMap<String, Tensor> all = new TreeMap<>();
        parts.forEach(part -> all.putAll(part.tensors));
        return new NamedState(all, parts.get(0).words);
    }

    /** The name of a buffer of a parameter. */
    public static String name(String buffer, String parameter) {
        return buffer + "." + parameter;
    }

    /** The parameter that a tensor belongs to; the name itself where it belongs to none. */
    public static String parameter(String name) {
        return name.substring(name.indexOf('.') + 1);
    }

    /** The tensors of some parameters, and all words. */
    public NamedState only(Predicate<String> parameters) {
        SortedMap<String, Tensor> some = new TreeMap<>(tensors);
        some.keySet().removeIf(name -> !parameters.test(parameter(name)));
        return new NamedState(some, words);
    }

    /** The same with parameters under other names. */
    public NamedState renamed(UnaryOperator<String> parameters) {
        SortedMap<String, Tensor> renamed = new TreeMap<>();
        tensors.forEach((name, tensor) -> renamed.put(
                name.contains(".")
                        ? name(name.substring(0, name.indexOf('.')), parameters.apply(parameter(name)))
                        : name,
                tensor));
        return new NamedState(renamed, words);
    }

    /** A word. @throws io.hvd.error.HvdException if there is none */
    public String word(String key) {
        String word = words.get(key);
        if (word == null) {
            throw StateOwner.mismatch("its word \"" + key + "\" is missing; it has " + words.keySet());
        }
        return word;
    }

    /** A whole number of at least 0. @throws io.hvd.error.HvdException if there is none */
    public long whole(String key) {
        String word = word(key);
        if (!word.matches("[0-9]{1,18}")) {
            throw StateOwner.mismatch("its \"" + key + "\" is \"" + word + "\", expected a whole number");
        }
        return Long.parseLong(word);
    }

    /** A number. @throws io.hvd.error.HvdException if there is none */
    public double number(String key) {
        try {
            return Double.parseDouble(word(key));
        } catch (NumberFormatException e) {
            throw StateOwner.mismatch("its \"" + key + "\" is \"" + word(key) + "\", expected a number");
        }
    }

    /**
     * Requires that it has the tensors of another state, each of the same type and shape, and no more.
     *
     * @param own that of the optimizer that is to take it
     * @throws io.hvd.error.HvdException that names the first tensor that is missing, too many or of another shape, and says what a
     *     renamed parameter needs
     */
    public void requireLike(NamedState own) {
        SortedSet<String> missing = new TreeSet<>(own.tensors.keySet());
        missing.removeAll(tensors.keySet());
        SortedSet<String> extra = new TreeSet<>(tensors.keySet());
        extra.removeAll(own.tensors.keySet());
        if (!missing.isEmpty()) {
            throw StateOwner.mismatch("it has no \"" + missing.first() + "\" of "
                    + words(own.tensors.get(missing.first())) + more(missing) + hint(missing.first(), own, extra));
        }
        if (!extra.isEmpty()) {
            throw StateOwner.mismatch("it has \"" + extra.first() + "\" of " + words(tensors.get(extra.first()))
                    + more(extra) + ", which this optimizer does not keep");
        }
        own.tensors.forEach((name, tensor) -> {
            String found = words(tensors.get(name));
            if (!found.equals(words(tensor))) {
                throw StateOwner.mismatch("\"" + name + "\" is " + found + ", expected " + words(tensor));
            }
        });
    }

    private static String more(SortedSet<String> names) {
        return names.size() == 1 ? "" : " and " + (names.size() - 1) + " other tensors";
    }

    private String hint(String missing, NamedState own, SortedSet<String> extra) {
        String wanted = words(own.tensors.get(missing));
        String buffer = missing.substring(0, missing.indexOf('.') + 1);
        return extra.stream()
                .filter(name ->
                        name.startsWith(buffer) && words(tensors.get(name)).equals(wanted))
                .findFirst()
                .map(name -> ", and has \"" + name + "\" of the same shape: for a parameter that was renamed call"
                        + " Checkpoints' renamed(\"" + parameter(name) + "\", \"" + parameter(missing) + "\")")
                .orElse("");
    }

    private static String words(Tensor tensor) {
        return tensor.dtype() + "" + tensor.shape();
    }
}
