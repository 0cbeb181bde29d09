package io.hvd.optimizer.torch;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
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
        return TorchTensors.onHost(name, copy.retainReference(), TorchTensors.LONGEST_BUFFER);
    }

    /**
     * Gives a module's parameters and buffers, on whichever device, the values that {@link #of} had found. What a module has under two
     * names, as tied weights, may be in the state under both or one of them.
     *
     * @throws HvdException if a name is missing or too many, a type or shape differs, or two names of one parameter have different values;
     *     then nothing is changed
     */
    public static void load(Module module, Map<String, Tensor> state) {
        try (PointerScope scope = new PointerScope()) {
            TreeMap<String, org.bytedeco.pytorch.Tensor> members = members(module);
            requireNames(members, state);
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
        }
    }

    private static void requireNames(Map<String, org.bytedeco.pytorch.Tensor> members, Map<String, Tensor> state) {
        Set<Place> given = new HashSet<>();
        members.forEach((name, member) -> {
            if (state.containsKey(name)) {
                given.add(Place.of(member));
            }
        });
        boolean complete = members.values().stream().allMatch(member -> given.contains(Place.of(member)));
        if (!complete || !members.keySet().containsAll(state.keySet())) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "the state is of another module: it has " + new TreeSet<>(state.keySet()) + ", expected "
                            + members.keySet());
        }
    }

    private static void requireLike(String name, org.bytedeco.pytorch.Tensor member, Tensor saved) {
        DType type = TorchTensors.typeOf(name, member);
        if (saved.dtype() != type || !saved.shape().equals(TorchTensors.shape(member))) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "the state is of another module: \"" + name + "\" is " + saved + ", expected " + type
                            + TorchTensors.shape(member));
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
        TreeMap<String, org.bytedeco.pytorch.Tensor> members = TorchTensors.references(module.named_parameters());
        members.putAll(TorchTensors.references(module.named_buffers()));
        return members;
    }
}
