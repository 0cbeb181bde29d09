package io.hvd.optimizer.arrays;

import io.hvd.log.HvdLogger;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.StateOwner;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The state of an optimizer on plain arrays as named tensors, which are its own arrays.
 *
 * @param form kind, parameters and buffers
 * @param buffers the arrays, the first kind for all parameters, then the next kind
 */
public record ArrayTensors(ArrayState form, List<float[]> buffers) {
    private static final HvdLogger LOG = HvdLogger.of(ArrayTensors.class);
    private static final String STEPS = "steps";
    private static final String RATE = "learning_rate";
    /** Before a parameter's name: the steps before its buffers began anew. */
    private static final String LATE = "late.";

    /**
     * The numbers of the state that belong to no element.
     *
     * @param late for each parameter the steps before its buffers began anew
     */
    public record Head(long steps, double rate, long[] late) {}

    /** The state; nothing is copied. */
    public NamedState state(Head head) {
        SortedMap<String, String> words = new TreeMap<>();
        words.put(NamedState.KIND, form.owners());
        words.put(STEPS, Long.toString(head.steps));
        words.put(RATE, Double.toString(head.rate));
        for (int i = 0; i < head.late.length; i++) {
            if (head.late[i] != 0) {
                words.put(LATE + name(i), Long.toString(head.late[i]));
            }
        }
        return new NamedState(tensors(), words);
    }

    private String name(int parameter) {
        return form.parameters().get(parameter).name();
    }

    private SortedMap<String, Tensor> tensors() {
        SortedMap<String, Tensor> tensors = new TreeMap<>();
        int at = 0;
        for (ArrayBuffer kind : form.buffers()) {
            for (Parameter parameter : form.parameters()) {
                Tensor view = Tensor.wrap(
                        buffers.get(at++), DType.FLOAT32, parameter.value().shape());
                tensors.put(NamedState.name(kind.torchName(), parameter.name()), view);
            }
        }
        return tensors;
    }

    /**
     * Fills the arrays.
     *
     * @return the other numbers
     * @throws io.hvd.error.HvdException if the state is of another optimizer; then nothing is changed
     */
    public Head load(NamedState state) {
        if (!state.word(NamedState.KIND).equals(form.owners())) {
            throw StateOwner.mismatch("it is of \"" + state.word(NamedState.KIND) + "\" where this optimizer has \""
                    + form.owners() + "\"");
        }
        NamedState own = new NamedState(tensors(), new TreeMap<>());
        state.requireLike(own);
        Head head = new Head(state.whole(STEPS), state.number(RATE), late(state));
        sayWhatIsLeftOut(state);
        own.tensors().forEach((name, tensor) -> tensor.copyFrom(state.tensors().get(name)));
        return head;
    }

    private static long late(NamedState state, String parameter) {
        String key = LATE + parameter;
        return state.words().containsKey(key) ? state.whole(key) : 0;
    }

    private long[] late(NamedState state) {
        long steps = state.whole(STEPS);
        long[] late = new long[form.parameters().size()];
        for (int i = 0; i < late.length; i++) {
            late[i] = late(state, name(i));
            if (late[i] > steps) {
                throw StateOwner.mismatch("the buffers of \"" + name(i) + "\" began anew after step " + late[i]
                        + ", and it has made " + steps);
            }
        }
        return late;
    }

    /**
     * The state of all parameters, made of states of some, whose tensors it has. Each parameter keeps the number of steps that it has made
     * there; one that is in none has made no step.
     *
     * @param form of an optimizer over all parameters
     * @param parts each of other parameters; the first has the learning rate
     */
    public static NamedState join(ArrayState form, List<NamedState> parts) {
        long steps = parts.stream().mapToLong(part -> part.whole(STEPS)).max().orElseThrow();
        SortedMap<String, Tensor> tensors = new TreeMap<>();
        SortedMap<String, String> words = new TreeMap<>(parts.get(0).words());
        words.keySet().removeIf(key -> key.startsWith(LATE));
        words.put(STEPS, Long.toString(steps));
        for (Parameter parameter : form.buffers().isEmpty() ? List.<Parameter>of() : form.parameters()) {
            NamedState part = partOf(parameter, form, parts);
            for (ArrayBuffer kind : form.buffers()) {
                String name = NamedState.name(kind.torchName(), parameter.name());
                Shape shape = parameter.value().shape();
                tensors.put(
                        name,
                        part == null
                                ? Tensor.zeros(DType.FLOAT32, shape)
                                : part.tensors().get(name));
            }
            long made = part == null ? 0 : part.whole(STEPS) - late(part, parameter.name());
            if (made != steps) {
                words.put(LATE + parameter.name(), Long.toString(steps - made));
            }
        }
        return new NamedState(tensors, words);
    }

    private static NamedState partOf(Parameter parameter, ArrayState form, List<NamedState> parts) {
        String name = NamedState.name(form.buffers().get(0).torchName(), parameter.name());
        return parts.stream()
                .filter(part -> part.tensors().containsKey(name))
                .findFirst()
                .orElse(null);
    }

    private void sayWhatIsLeftOut(NamedState state) {
        List<String> unknown = state.words().keySet().stream()
                .filter(key -> !List.of(NamedState.KIND, STEPS, RATE).contains(key) && !key.startsWith(LATE))
                .toList();
        if (!unknown.isEmpty()) {
            LOG.warn("the words {} of an optimizer's state are left out: {} does not know them", unknown, form.kind());
        }
    }
}
