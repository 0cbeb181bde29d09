package io.hvd.optimizer.torch.shard;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.HashMap;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Shares out a model's parameters, unit by unit, each of them once. */
public final class ShardUnits {
    /** The name of the unit of all parameters that are in no other one. */
    public static final String ROOT = "root";

    private final Ranks ranks;
    private final ShardPasses passes;
    private final ScalarType computeType;
    /** The unit of each parameter by its identity. */
    private final Map<Long, String> taken = new HashMap<>();

    private boolean hasRoot;

    /** @param computeType null for that of the parameters */
    public ShardUnits(Ranks ranks, ShardPasses passes, ScalarType computeType) {
        this.ranks = ranks;
        this.passes = passes;
        this.computeType = computeType == null ? null : computeType.intern();
    }

    /** A collective. */
    public void add(String name, Module module) {
        if (name.isBlank() || name.equals(ROOT) || isKnown(name) || hasRoot) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "unit(\"" + name + "\", module) on " + ranks.here() + ": "
                            + (hasRoot
                                    ? "root(...) has taken all parameters that were in no unit; call it last"
                                    : "expected a name of its own that is not blank and not \"" + ROOT + "\""));
        }
        share(name, false, module);
    }

    /** A collective. */
    public void addRoot(Module model) {
        if (hasRoot) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE, "root(model) on " + ranks.here() + " for the second time, expected once");
        }
        share(ROOT, true, model);
        hasRoot = true;
    }

    private void share(String name, boolean isRoot, Module module) {
        passes.add(ShardUnit.of(name, isRoot, module, taken, ranks, computeType, passes));
        passes.units().forEach(unit -> unit.buffers().keySet().forEach(this::requireOwnName));
        // The module's own parameters have left holes in glibc's heap, whose pages go back to the system.
        Pointer.trimMemory();
    }

    /** @throws HvdException if a buffer would be called as a unit's shard in a state */
    private void requireOwnName(String buffer) {
        String saved = ShardNames.BUFFER + buffer;
        passes.units().stream()
                .flatMap(unit -> unit.flats().stream())
                .filter(flat -> ShardNames.isOf(flat.name(), saved))
                .findFirst()
                .ifPresent(flat -> {
                    throw new HvdException(
                            ErrorId.OPTIMIZER_MISUSE,
                            "the buffer \"" + buffer + "\" and the shards of unit \"" + flat.unit() + "\" on "
                                    + ranks.here() + " would both be saved as \"" + saved
                                    + "\": expected another name of the unit");
                });
    }

    private boolean isKnown(String name) {
        return passes.units().stream().anyMatch(unit -> unit.name().equals(name));
    }
}
