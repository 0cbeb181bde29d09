package io.hvd.optimizer.torch.state;

import io.hvd.error.HvdException;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.StateOwner;
import io.hvd.optimizer.StateSize;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.memory.TorchCopy;
import io.hvd.optimizer.torch.parameter.GroupOptions;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerParamGroupVector;
import org.bytedeco.pytorch.OutputArchive;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * The buffers of a LibTorch optimizer as named tensors, such as {@code exp_avg.layer1.weight}, and {@code step.layer1.weight} with the
 * number of steps. JavaCPP gives no access to an optimizer's states, but a tensor that an optimizer has read from an archive is the very
 * one that the archive gives to whoever asks. So the optimizer reads its own archive once, and from then on its tensors are known here:
 * LibTorch steps them in place. Its archive is still what says the steps and which buffers there are. For the time in which it is written
 * the known tensors are a single zero that is expanded to their shape, so that it is small; a tensor that is not known shows in it by the
 * size of its storage.
 */
public final class TorchBuffers {
    private static final String STATE = "state";
    private static final String STEP = "step";

    /** A buffer of the parameter with this number, from 1. */
    private record Place(int number, String buffer) {}

    private final Optimizer optimizer;
    private final Function<Tensor, String> names;
    private final StateArchive archive;
    private final GroupOptions options;
    /** The optimizer's own tensors. */
    private final Map<Place, Tensor> known = new HashMap<>();

    TorchBuffers(Optimizer optimizer, Function<Tensor, String> names, StateArchive archive) {
        this.optimizer = optimizer;
        this.names = names;
        this.archive = archive;
        this.options = new GroupOptions(optimizer);
    }

    /** The buffers of an optimizer of one parameter. */
    public static TorchBuffers ofOne(Optimizer optimizer, String parameter) {
        return new TorchBuffers(optimizer, tensor -> parameter, new StateArchive(optimizer, tensor -> parameter));
    }

    /** The tensors, which are the optimizer's own as far as they lie in the host's memory, and the options as words. */
    public NamedState state() {
        SortedMap<String, io.hvd.tensor.Tensor> tensors = new TreeMap<>();
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            Map<Place, Long> steps = settled();
            List<Tensor> members = members();
            known.forEach((place, tensor) -> {
                String name = NamedState.name(place.buffer, name(members, place));
                tensors.put(name, TensorViews.onHost(name, onHost(tensor), TensorViews.LONGEST_BUFFER));
            });
            steps.forEach((place, step) -> tensors.put(
                    NamedState.name(STEP, name(members, place)),
                    io.hvd.tensor.Tensor.wrap(new long[] {step}, DType.INT64, Shape.scalar())));
        }
        SortedMap<String, String> words = options.words();
        words.put(NamedState.KIND, kind());
        return new NamedState(tensors, words);
    }

    private static Tensor onHost(Tensor tensor) {
        return tensor.detach().cpu().contiguous().retainReference();
    }

    private String kind() {
        return optimizer.getClass().getSimpleName();
    }

    private String name(List<Tensor> members, Place place) {
        return names.apply(members.get(place.number - 1));
    }

    /** In the order of their numbers. */
    private List<Tensor> members() {
        List<Tensor> members = new ArrayList<>();
        OptimizerParamGroupVector groups = optimizer.param_groups();
        for (long i = 0; i < groups.size(); i++) {
            TensorVector params = groups.get(i).params();
            for (long j = 0; j < params.size(); j++) {
                members.add(new Tensor(params.get(j)));
            }
        }
        return members;
    }

    /** Has all tensors known, and gives the steps of each parameter that counts them. */
    private Map<Place, Long> settled() {
        Contents now = contents();
        if (now.strangers || !known.keySet().equals(now.tensors.keySet())) {
            adopt();
            now = contents();
        }
        return now.steps;
    }

    /** What an archive with the known tensors replaced has. @param strangers whether it has the elements of other tensors */
    private record Contents(Map<Place, Tensor> tensors, Map<Place, Long> steps, boolean strangers) {}

    private Contents contents() {
        Contents[] found = new Contents[1];
        withoutElements(() -> {
            try (LargeArchive small = LargeArchive.of(optimizer::save)) {
                small.open(opened -> found[0] = contents(opened));
            }
            return null;
        });
        return found[0];
    }

    private static Contents contents(InputArchive archive) {
        Map<Place, Tensor> tensors = new HashMap<>();
        Map<Place, Long> steps = new HashMap<>();
        boolean strangers = false;
        Map<String, String> numbers = NumberedArchive.numbers(archive);
        if (NumberedArchive.has(archive, STATE)) {
            InputArchive states = NumberedArchive.child(archive, STATE);
            for (String key : NumberedArchive.keys(states)) {
                int number = Integer.parseInt(numbers.get(key));
                InputArchive state = NumberedArchive.child(states, key);
                for (String buffer : NumberedArchive.keys(state)) {
                    IValue value = NumberedArchive.value(state, buffer);
                    Place place = new Place(number, buffer);
                    if (value.isTensor() && value.toTensor().defined()) {
                        Tensor tensor = new Tensor(value.toTensor()); // a reference of its own, beyond the archive
                        tensors.put(place, tensor);
                        strangers |= !isPlaceholder(tensor);
                    } else if (value.isInt()) {
                        steps.put(place, value.toInt());
                    }
                }
            }
        }
        return new Contents(tensors, steps, strangers);
    }

    /** The optimizer reads what it has written; the tensors that it has read are known from then on. */
    private void adopt() {
        try (LargeArchive own = LargeArchive.of(optimizer::save)) {
            own.open(opened -> {
                optimizer.load(opened);
                replaceKnown(contents(opened).tensors);
            });
        }
    }

    private void replaceKnown(Map<Place, Tensor> read) {
        known.values().forEach(Tensor::close); // their elements live as long as the optimizer or a view has them
        known.clear();
        read.forEach((place, tensor) -> known.put(place, tensor.retainReference()));
    }

    /** For the time of an action the known tensors have the shape that they have, and no elements of their own. */
    private <T> T withoutElements(Supplier<T> action) {
        Map<Place, Tensor> elements = new HashMap<>();
        known.forEach((place, tensor) -> elements.put(place, tensor.detach()));
        try {
            known.values()
                    .forEach(tensor -> tensor.set_data(
                            placeholder(tensor, tensor.sizes().vec().get())));
            return action.get();
        } finally {
            elements.forEach((place, data) -> known.get(place).set_data(data));
        }
    }

    /** One zero that is expanded, or one of two, so that the storage has another size than any buffer's own. */
    private static Tensor placeholder(Tensor like, long[] sizes) {
        if (like.numel() > 1) {
            return torch.zeros(new long[] {1}, like.options()).expand(sizes);
        }
        return torch.zeros(new long[] {2}, like.options())
                .narrow(0, 0, like.numel())
                .reshape(sizes);
    }

    private static boolean isPlaceholder(Tensor tensor) {
        return tensor.storage().nbytes() == tensor.element_size() * (tensor.numel() > 1 ? 1 : 2);
    }

    /**
     * Takes over named tensors.
     *
     * @throws io.hvd.error.HvdException if they are another optimizer's; then nothing is changed
     */
    public void load(NamedState state) {
        if (!state.word(NamedState.KIND).equals(kind())) {
            throw StateOwner.mismatch(
                    "it is of \"" + state.word(NamedState.KIND) + "\" where this optimizer is \"" + kind() + "\"");
        }
        NamedState before = new NamedState(new TreeMap<>(), options.words());
        boolean loaded = false;
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            settled();
            Map<Place, io.hvd.tensor.Tensor> given = places(state, members());
            options.set(state);
            Map<Place, Tensor> read = new HashMap<>();
            withoutElements(() -> {
                byte[] written = written(given, members());
                archive.loadThen(written, opened -> read.putAll(contents(opened).tensors));
                return null;
            });
            read.forEach((place, tensor) -> fill(tensor, given.get(place)));
            replaceKnown(read);
            loaded = true;
        } finally {
            if (!loaded) {
                options.set(before);
            }
        }
    }

    private static void fill(Tensor placeholder, io.hvd.tensor.Tensor from) {
        placeholder.set_data(torch.empty_like(placeholder.contiguous()));
        TorchCopy.copy(from, placeholder);
    }

    private Map<Place, io.hvd.tensor.Tensor> places(NamedState state, List<Tensor> members) {
        Map<String, Integer> numbers = new HashMap<>();
        for (int i = 0; i < members.size(); i++) {
            numbers.put(names.apply(members.get(i)), i + 1);
        }
        Map<Place, io.hvd.tensor.Tensor> places = new HashMap<>();
        state.tensors().forEach((name, tensor) -> {
            Integer number = numbers.remove(NamedState.parameter(name));
            if (number == null) {
                throw unknown(name, state, numbers.keySet());
            }
            numbers.put(NamedState.parameter(name), number);
            places.put(new Place(number, name.substring(0, name.indexOf('.'))), tensor);
        });
        requireSameBuffers(places.keySet(), members);
        return places;
    }

    /** Each parameter that has buffers has all that another one has. */
    private void requireSameBuffers(Set<Place> given, List<Tensor> members) {
        Set<String> buffers = new TreeSet<>();
        Set<Integer> numbers = new TreeSet<>();
        given.forEach(place -> {
            buffers.add(place.buffer);
            numbers.add(place.number);
        });
        for (int number : numbers) {
            for (String buffer : buffers) {
                Place place = new Place(number, buffer);
                if (!given.contains(place)) {
                    throw StateOwner.mismatch("it has no \"" + NamedState.name(buffer, name(members, place)) + "\"");
                }
            }
        }
    }

    private static HvdException unknown(String tensor, NamedState state, Set<String> parameters) {
        String other = NamedState.parameter(tensor);
        Set<String> without = new TreeSet<>(parameters);
        state.tensors().keySet().forEach(name -> without.remove(NamedState.parameter(name)));
        return StateOwner.mismatch("it has \"" + tensor + "\", and this optimizer steps no parameter \"" + other + "\""
                + (without.isEmpty()
                        ? ""
                        : "; it has nothing for " + without + ": for a parameter that was renamed call Checkpoints'"
                                + " renamed(\"" + other + "\", \""
                                + without.iterator().next() + "\")"));
    }

    /** An archive as the optimizer itself would write it, with the options that it has now. */
    private byte[] written(Map<Place, io.hvd.tensor.Tensor> given, List<Tensor> members) {
        byte[] own = TorchArchive.writeState(optimizer);
        return TorchArchive.write(
                out -> TorchArchive.open(own, template -> {
                    for (String key : NumberedArchive.keys(template)) {
                        if (!key.equals(STATE)) {
                            NumberedArchive.copy(template, key, out, key);
                        }
                    }
                    out.write(STATE, states(given, members, out));
                }),
                StateSize.LARGEST);
    }

    private static OutputArchive states(
            Map<Place, io.hvd.tensor.Tensor> given, List<Tensor> members, OutputArchive out) {
        OutputArchive states = new OutputArchive(out.compilation_unit());
        Map<Integer, OutputArchive> byNumber = new TreeMap<>();
        given.forEach((place, tensor) -> {
            OutputArchive state =
                    byNumber.computeIfAbsent(place.number, number -> new OutputArchive(out.compilation_unit()));
            if (place.buffer.equals(STEP)) {
                state.write(STEP, new IValue(step(tensor)));
            } else {
                TensorOptions like = members.get(place.number - 1)
                        .options()
                        .dtype(new ScalarTypeOptional(TensorViews.typeOf(tensor.dtype())));
                state.write(
                        place.buffer,
                        torch.zeros(new long[] {1}, like).expand(tensor.shape().toArray()));
            }
        });
        byNumber.forEach((number, state) -> states.write(String.valueOf(number), state));
        return states;
    }

    private static long step(io.hvd.tensor.Tensor tensor) {
        if (tensor.dtype() != DType.INT64 || tensor.elements() != 1) {
            throw StateOwner.mismatch("a \"" + STEP + "\" of it is " + tensor + ", expected one " + DType.INT64);
        }
        return ((long[]) tensor.toArray())[0];
    }

    /** Bytes of the buffers that there are by now. */
    long bytes() {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            settled();
            return known.values().stream().mapToLong(Tensor::nbytes).sum();
        }
    }

    /** Bytes of the buffers of all parameters, as the options have them, and of their numbers of steps. */
    public long fullBytes() {
        try (PointerScope scope = new PointerScope()) {
            int buffers = archive.buffersByOptions();
            return members().stream()
                    .filter(Tensor::requires_grad)
                    .mapToLong(member -> buffers * member.nbytes() + Long.BYTES)
                    .sum();
        }
    }

    /** Lets go of the optimizer's tensors, whose memory is freed with it. */
    public void close() {
        known.values().forEach(Tensor::close);
        known.clear();
    }
}
