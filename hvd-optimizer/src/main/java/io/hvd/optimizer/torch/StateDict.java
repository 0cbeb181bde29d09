package io.hvd.optimizer.torch;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.memory.TorchCopy;
import io.hvd.optimizer.torch.parameter.DistinctParameters;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.NoGradGuard;

/** Takes a module's values out and puts them back, as torch's {@code state_dict} and {@code load_state_dict} do. */
public final class StateDict {
    private StateDict() {}

    /** A module's parameters and buffers by name, sorted: copies in the host's memory, for a checkpoint. */
    public static TreeMap<String, Tensor> of(Module module) {
        TreeMap<String, Tensor> copies = new TreeMap<>();
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            members(module).forEach((name, member) -> copies.put(name, copy(name, member)));
        }
        return copies;
    }

    /** The copy stays as long as the hvd tensor, whatever scope is open. */
    private static Tensor copy(String name, org.bytedeco.pytorch.Tensor member) {
        org.bytedeco.pytorch.Tensor copy = member.detach().cpu().contiguous().clone();
        return TensorViews.onHost(name, copy.retainReference(), TensorViews.LONGEST_BUFFER);
    }

    /**
     * Gives a module's parameters and buffers, on whichever device, the values that {@link #of} had found. What a module has under two
     * names, as tied weights, may be in the state under both or one of them.
     *
     * @throws HvdException if a name is missing or too many, a type or shape differs, or two names of one parameter have different values;
     *     then nothing is changed
     */
    public static void load(Module module, Map<String, Tensor> state) {
        load(module, state, true);
    }

    /**
     * Does as {@link #load(Module, Map)}, and if it is not strict, loads the names that both have and leaves the others alone, as torch's
     * {@code load_state_dict(state, strict=False)}.
     *
     * <pre>{@code
     * var difference = StateDict.load(model, StateDict.withoutPrefix(pretrained, "module."), false);
     * System.out.println("missing " + difference.missing() + ", unexpected " + difference.unexpected());
     * }</pre>
     *
     * @param strict whether all names must be the same
     * @return the names that only one of the two has; none if it is strict
     * @throws HvdException if a name that both have differs in type or shape, also if it is not strict; or, if it is strict, as {@link
     *     #load(Module, Map)}. Nothing is changed then
     */
    public static Difference load(Module module, Map<String, Tensor> state, boolean strict) {
        try (PointerScope scope = new PointerScope()) {
            TreeMap<String, org.bytedeco.pytorch.Tensor> members = members(module);
            Difference difference = Difference.of(members, state);
            if (strict && !difference.isNone()) {
                throw difference.refusal(state.size());
            }
            members.forEach((name, member) -> {
                if (state.containsKey(name)) {
                    requireLike(name, member, state.get(name));
                }
            });
            requireSameValues(members, state);
            members.forEach((name, member) -> {
                if (state.containsKey(name)) {
                    TorchCopy.copy(state.get(name), member);
                }
            });
            return difference;
        }
    }

    /**
     * The names that a state and a module do not have in common, sorted.
     *
     * @param missing names of the module that the state has not; these values stay as they are
     * @param unexpected names of the state that the module has not; these are ignored
     */
    public record Difference(List<String> missing, List<String> unexpected) {
        private static Difference of(Map<String, org.bytedeco.pytorch.Tensor> members, Map<String, Tensor> state) {
            Set<Place> given = new HashSet<>();
            members.forEach((name, member) -> {
                if (state.containsKey(name)) {
                    given.add(Place.of(member));
                }
            });
            return new Difference(
                    members.entrySet().stream()
                            .filter(member -> !given.contains(Place.of(member.getValue())))
                            .map(Map.Entry::getKey)
                            .toList(),
                    state.keySet().stream()
                            .filter(name -> !members.containsKey(name))
                            .sorted()
                            .toList());
        }

        /** Whether the names are the same. */
        public boolean isNone() {
            return missing.isEmpty() && unexpected.isEmpty();
        }

        /** @param names of the state; only a prefix of all of them can be taken away */
        private HvdException refusal(int names) {
            List<String> wrapped = unexpected.stream()
                    .map(name -> name.substring(0, name.indexOf('.') + 1))
                    .distinct()
                    .toList();
            boolean isWrapped = unexpected.size() == names
                    && wrapped.size() == 1
                    && !wrapped.get(0).isEmpty()
                    && unexpected.stream()
                            .map(name -> name.substring(wrapped.get(0).length()))
                            .toList()
                            .containsAll(missing);
            return new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "the state is of another module: "
                            + (missing.isEmpty() ? "" : "it lacks the names " + missing)
                            + (missing.isEmpty() || unexpected.isEmpty() ? "" : ", and ")
                            + (unexpected.isEmpty() ? "" : "its names " + unexpected + " are not the module's")
                            + ". "
                            + (isWrapped
                                    ? "All of these begin with \"" + wrapped.get(0) + "\": load(module,"
                                            + " StateDict.withoutPrefix(state, \"" + wrapped.get(0)
                                            + "\")) takes it away"
                                    : "load(module, state, false) loads the names that both have"));
        }
    }

    /**
     * The state without what all of its names begin with, such as the {@code module.} of a torch model that was saved inside of a
     * DataParallel or a DistributedDataParallel. A state in which no name begins so is returned as it is.
     *
     * @throws HvdException if only some of the names begin with the prefix
     */
    public static TreeMap<String, Tensor> withoutPrefix(Map<String, Tensor> state, String prefix) {
        List<String> others = state.keySet().stream()
                .filter(name -> !name.startsWith(prefix))
                .sorted()
                .toList();
        if (!others.isEmpty() && others.size() < state.size()) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "withoutPrefix(state, \"" + prefix + "\"): " + others.size() + " of the " + state.size()
                            + " names do not begin with it, \"" + others.get(0)
                            + "\" the first; expected all of them or none");
        }
        TreeMap<String, Tensor> shorter = new TreeMap<>();
        int from = others.isEmpty() ? prefix.length() : 0;
        state.forEach((name, tensor) -> shorter.put(name.substring(from), tensor));
        return shorter;
    }

    private static void requireLike(String name, org.bytedeco.pytorch.Tensor member, Tensor saved) {
        DType type = TensorViews.typeOf(name, member);
        if (saved.dtype() != type || !saved.shape().equals(TensorViews.shape(member))) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "the state is of another module: \"" + name + "\" is " + saved + ", expected " + type
                            + TensorViews.shape(member));
        }
    }

    private static void requireSameValues(Map<String, org.bytedeco.pytorch.Tensor> members, Map<String, Tensor> state) {
        Map<Place, String> firsts = new HashMap<>();
        members.forEach((name, member) -> {
            String first = state.containsKey(name) ? firsts.putIfAbsent(Place.of(member), name) : null;
            if (first != null && !TorchCopy.sameBytes(state.get(first), state.get(name), member)) {
                throw new HvdException(
                        ErrorId.STATE_MISMATCH,
                        "the state is of another module: \"" + first + "\" and \"" + name
                                + "\" are two names of one tensor here, and have different values in the state");
            }
        });
    }

    /** Where a tensor lies; an empty one lies nowhere, and is known by itself. */
    private record Place(String device, long address, long bytes) {
        static Place of(org.bytedeco.pytorch.Tensor tensor) {
            long bytes = tensor.nbytes();
            return new Place(
                    tensor.device().str().getString(),
                    bytes == 0
                            ? DistinctParameters.identity(tensor)
                            : tensor.data_ptr().address(),
                    bytes);
        }
    }

    private static TreeMap<String, org.bytedeco.pytorch.Tensor> members(Module module) {
        TreeMap<String, org.bytedeco.pytorch.Tensor> members = TensorViews.references(module.named_parameters());
        members.putAll(TensorViews.references(module.named_buffers()));
        return members;
    }
}
