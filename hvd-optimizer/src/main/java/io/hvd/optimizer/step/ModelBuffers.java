package io.hvd.optimizer.step;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.BufferSync;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.agreement.StepsTogether;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The buffers of one optimizer's model, made the same on all ranks from time to time. */
public final class ModelBuffers {
    private final ProcessSet set;
    private final TreeMap<String, Tensor> buffers;
    /** Null if they are left alone. */
    private final BufferSync how;

    private final String scope;
    private final StepsTogether steps;
    private boolean compared;

    /** @param how null for never */
    public ModelBuffers(ProcessSet set, Map<String, Tensor> buffers, BufferSync how, String scope) {
        this.set = set;
        this.buffers = new TreeMap<>(buffers);
        this.how = how;
        this.scope = scope + "buffers.";
        this.steps = new StepsTogether(set, how == null ? 0 : how.everySteps());
        if (how != null && buffers.isEmpty()) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "broadcastBuffers(...) without buffers: name them by buffers(TorchTensors.buffers(model)); found none");
        }
    }

    /** The buffers that must be the same by themselves, because nothing makes them the same. */
    public List<Parameter> toCompare() {
        List<Parameter> alone = new ArrayList<>();
        if (how == null) {
            buffers.forEach((name, tensor) -> alone.add(new Parameter(name, tensor, tensor)));
        }
        return alone;
    }

    /** Whether the ranks take over one another's buffers. */
    boolean areKeptTheSame() {
        return how != null;
    }

    /** Every rank comes here after every step. */
    public void stepped() {
        if (steps.stepped()) {
            synchronize();
        }
    }

    /** A collective. */
    public void synchronize() {
        if (how == null) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "synchronizeBuffers() on "
                            + (set.included()
                                    ? "rank " + set.ranks().get(set.rank())
                                    : "a rank outside of " + set.ranks())
                            + ": the optimizer was built without"
                            + " broadcastBuffers(...), which says whose buffers all ranks get");
        }
        if (set.included() && set.size() > 1) {
            requireSame();
            List<Handle> handles = new ArrayList<>();
            buffers.forEach((name, tensor) -> handles.add(start(scope + name, tensor)));
            handles.forEach(Handle::synchronize);
        }
    }

    /** A collective: all ranks get the buffers of one. @param root global rank */
    void takeFrom(int root) {
        if (set.included() && set.size() > 1 && !buffers.isEmpty()) {
            requireSame();
            List<Handle> handles = new ArrayList<>();
            buffers.forEach((name, tensor) -> handles.add(set.broadcastInPlaceAsync(scope + name, tensor, root)));
            handles.forEach(Handle::synchronize);
        }
    }

    private Handle start(String name, Tensor tensor) {
        return how.mean() && tensor.dtype().isFloating()
                ? set.allreduceInPlaceAsync(name, tensor, AllreduceOptions.average())
                : set.broadcastInPlaceAsync(name, tensor, set.ranks().get(0));
    }

    /** Once, since a rank that has a buffer of its own would wait for the others for ever. */
    private void requireSame() {
        if (!compared) {
            Map<String, String> kinds = new TreeMap<>();
            buffers.forEach((name, tensor) -> kinds.put(
                    "buffer \"" + name + "\"", tensor.dtype() + tensor.shape().toString()));
            set.requireSame(kinds);
            compared = true;
        }
    }
}
