package io.hvd.optimizer.torch;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.Map;
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
     * Gives a module's parameters and buffers, on whichever device, the values that {@link #of} had found.
     *
     * @throws HvdException if a name is missing or too many, or a type or shape differs; then nothing is changed
     */
    public static void load(Module module, Map<String, Tensor> state) {
        TreeMap<String, org.bytedeco.pytorch.Tensor> members = members(module);
        if (!members.keySet().equals(state.keySet())) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "the state is of another module: it has " + new TreeSet<>(state.keySet()) + ", expected "
                            + members.keySet());
        }
        members.forEach((name, member) -> {
            Tensor saved = state.get(name);
            DType type = TorchTensors.typeOf(name, member);
            if (saved.dtype() != type || !saved.shape().equals(TorchTensors.shape(member))) {
                throw new HvdException(
                        ErrorId.STATE_MISMATCH,
                        "the state is of another module: \"" + name + "\" is " + saved + ", expected " + type
                                + TorchTensors.shape(member));
            }
        });
        members.forEach((name, member) -> TorchCopy.copy(state.get(name), member));
    }

    private static TreeMap<String, org.bytedeco.pytorch.Tensor> members(Module module) {
        TreeMap<String, org.bytedeco.pytorch.Tensor> members = TorchTensors.references(module.named_parameters());
        members.putAll(TorchTensors.references(module.named_buffers()));
        return members;
    }
}
