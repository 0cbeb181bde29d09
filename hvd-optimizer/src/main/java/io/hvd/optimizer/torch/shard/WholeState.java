package io.hvd.optimizer.torch.shard;

import io.hvd.ObjectCodec;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.memory.TorchCopy;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.global.torch;

/** The parameters and buffers of the whole model on one rank, by the names that its modules give them; the ranks go through it unit by unit. */
public final class WholeState {
    private final ShardPasses passes;
    private final Ranks ranks;

    public WholeState(ShardPasses passes, Ranks ranks) {
        this.passes = passes;
        this.ranks = ranks;
    }

    /**
     * A collective.
     *
     * @param root global rank
     * @return copies in the root's host memory; empty on other ranks
     */
    public TreeMap<String, Tensor> gather(int root) {
        TreeMap<String, Tensor> all = new TreeMap<>();
        for (ShardUnit unit : passes.units()) {
            unit.flats().forEach(flat -> gather(flat, root, all));
            if (isRoot(root)) {
                unit.buffers().forEach((name, buffer) -> all.put(name, HostTensors.copy(name, buffer)));
            }
        }
        return all;
    }

    private boolean isRoot(int root) {
        return ranks.set().ranks().get(ranks.rank()) == root;
    }

    private void gather(FlatParameter flat, int root, Map<String, Tensor> all) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            var mine = flat.shard().detach();
            var whole = mine;
            if (ranks.areSeveral()) {
                String name = ranks.scope() + flat.name() + ".whole";
                Tensor gathered = ranks.set().gather(name, Ranks.alias(name, mine), root);
                whole = isRoot(root) ? HostTensors.empty(mine, flat.layout().padded()) : null;
                if (whole != null) {
                    TorchCopy.copy(gathered, whole);
                }
            }
            if (isRoot(root)) {
                flat.named(whole).forEach((name, part) -> all.put(name, HostTensors.copy(name, part)));
            }
        }
    }

    /**
     * A collective: gives every rank its shards of the root's state.
     *
     * @param state looked at on the root only
     * @throws HvdException on all ranks if names, types or shapes are not those of the model; then nothing is changed
     */
    public void scatter(Map<String, Tensor> state, int root) {
        String found = isRoot(root) ? difference(state) : "";
        String difference = ranks.areSeveral()
                ? ranks.set().broadcastObject(ranks.scope() + "state", found, ObjectCodec.utf8(), root)
                : found;
        if (!difference.isEmpty()) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH, "the state on rank " + root + " is not of this model: " + difference);
        }
        for (ShardUnit unit : passes.units()) {
            unit.flats().forEach(flat -> scatter(flat, state, root));
            unit.buffers().forEach((name, buffer) -> scatter(name, buffer, state, root));
        }
    }

    /** In words; empty if there is none. */
    private String difference(Map<String, Tensor> state) {
        if (state == null) {
            return "it is null, expected the model's parameters and buffers by name";
        }
        TreeMap<String, String> expected = new TreeMap<>();
        for (ShardUnit unit : passes.units()) {
            unit.flats()
                    .forEach(flat -> flat.shapes().forEach((name, shape) -> {
                        expected.put(name, words(TensorViews.typeOf(name, flat.shard()), shape));
                    }));
            unit.buffers()
                    .forEach((name, buffer) ->
                            expected.put(name, words(TensorViews.typeOf(name, buffer), TensorViews.shape(buffer))));
        }
        if (!state.keySet().equals(expected.keySet())) {
            TreeSet<String> missing = new TreeSet<>(expected.keySet());
            missing.removeAll(state.keySet());
            TreeSet<String> unexpected = new TreeSet<>(state.keySet());
            unexpected.removeAll(expected.keySet());
            return "it lacks the names " + missing + ", and its names " + unexpected + " are not the model's";
        }
        return expected.entrySet().stream()
                .filter(one -> !words(state.get(one.getKey())).equals(one.getValue()))
                .findFirst()
                .map(one -> "\"" + one.getKey() + "\" is " + words(state.get(one.getKey())) + ", expected "
                        + one.getValue())
                .orElse("");
    }

    private static String words(Tensor tensor) {
        return tensor == null ? "null" : words(tensor.dtype(), tensor.shape());
    }

    private static String words(DType type, Shape shape) {
        return type + "" + shape;
    }

    private void scatter(FlatParameter flat, Map<String, Tensor> state, int root) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            var mine = flat.shard().detach();
            var whole = isRoot(root) ? torch.zeros(new long[] {flat.layout().padded()}, mine.options()) : null;
            if (whole != null) {
                flat.named(whole).forEach((name, part) -> TorchCopy.copy(state.get(name), part));
            }
            if (ranks.areSeveral()) {
                String name = ranks.scope() + flat.name() + ".scattered";
                Tensor given = whole == null ? null : Ranks.alias(name, whole);
                TorchCopy.copy(ranks.set().scatter(name, given, root), mine);
            } else {
                mine.copy_(whole);
            }
        }
    }

    private void scatter(String name, org.bytedeco.pytorch.Tensor buffer, Map<String, Tensor> state, int root) {
        if (isRoot(root)) {
            TorchCopy.copy(state.get(name), buffer);
        }
        ranks.broadcast(name, buffer, ranks.set().ranks().indexOf(root));
    }
}
