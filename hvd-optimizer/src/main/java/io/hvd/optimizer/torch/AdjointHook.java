package io.hvd.optimizer.torch;

import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.FunctionPreHook;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Gives tensors that were computed outside LibTorch a place in its graph, with a gradient in Java.
 *
 * <p>JavaCPP lets no Java class be a node of the graph, but it lets one be a node's pre-hook, which may
 * replace the gradients that the node gets. So the inputs are concatenated, only for the node that LibTorch
 * makes of it, and this node is declared to have made the outputs:
 * <pre>
 *   inputs, flat ──┐
 *                  ├── cat ── outputs         gradients of the outputs ── adjoint ── cat's gradient
 *   witness ───────┘
 * </pre>
 * LibTorch calls the hook once per pass, on the thread that runs backward, with the sums over all uses of the
 * outputs in that pass. Nothing is kept from one pass to the next.
 *
 * <p>Native code holds the hook weakly, so {@link #LIVING} keeps it as long as its graph can run. How
 * long that is the witness tells: an empty leaf that, besides the hook, only the graph refers to.
 */
final class AdjointHook extends FunctionPreHook {
    /** What native code may call: the graphs belong to the process, not to a context. */
    private static final List<AdjointHook> LIVING = new ArrayList<>();
    /** What a hook returned last on this thread: LibTorch takes its own references after the hook has ended. */
    private static final ThreadLocal<TensorVector> DELIVERED = new ThreadLocal<>();

    private final List<Expected> outputs;
    private final UnaryOperator<List<Tensor>> adjoint;
    private final Tensor witness;

    private AdjointHook(List<Expected> outputs, UnaryOperator<List<Tensor>> adjoint, Tensor witness) {
        this.outputs = outputs;
        this.adjoint = adjoint;
        this.witness = witness;
    }

    /**
     * An output's shape and type, for the zeros of one that a loss does not use.
     *
     * @param connected false where the type has no gradients
     */
    private record Expected(long[] shape, ScalarType type, boolean connected) {
        static Expected of(Tensor output) {
            return new Expected(output.sizes().vec().get(), output.scalar_type().intern(), output.is_floating_point());
        }
    }

    /**
     * Connects outputs without a graph to the inputs, unless these need no gradient or gradients are switched off.
     *
     * @param adjoint from the gradients of the outputs to those of the inputs; must not refer to the outputs,
     *     which would keep the graph alive for ever
     */
    static void connect(List<Tensor> inputs, List<Tensor> outputs, UnaryOperator<List<Tensor>> adjoint) {
        Optional<Tensor> needy = inputs.stream().filter(Tensor::requires_grad).findFirst();
        if (!GradMode.is_enabled() || needy.isEmpty()) {
            return;
        }
        try (PointerScope scope = new PointerScope()) {
            Tensor witness = torch.zeros(new long[] {0}, needy.get().options());
            witness.requires_grad_(true);
            List<Tensor> joined = new ArrayList<>(inputs);
            joined.add(witness);
            Node node = flat(joined).grad_fn();
            node.clear_input_metadata();
            outputs.stream()
                    .filter(Tensor::is_floating_point)
                    .forEach(output -> torch.create_gradient_edge(output, node));
            var hook = new AdjointHook(outputs.stream().map(Expected::of).toList(), adjoint, witness);
            keep(hook);
            node.add_pre_hook(hook); // from here on the node owns the hook's native side
        }
    }

    @Override
    public TensorVector apply(TensorVector gradients) {
        try (PointerScope scope = new PointerScope()) {
            return deliver(new TensorVector(flat(adjoint.apply(complete(gradients)))));
        } catch (HvdException e) {
            throw HookFailures.remembered(e);
        }
    }

    private List<Tensor> complete(TensorVector gradients) {
        List<Tensor> all = new ArrayList<>();
        int next = 0;
        for (Expected output : outputs) {
            Tensor gradient = output.connected() ? gradients.get(next++) : null;
            all.add(gradient != null && gradient.defined() ? gradient : zeros(output));
        }
        return all;
    }

    private Tensor zeros(Expected output) {
        return witness.new_zeros(output.shape()).to(output.type());
    }

    private static TensorVector deliver(TensorVector gradient) {
        release();
        DELIVERED.set(gradient.retainReference());
        return gradient;
    }

    private static void release() {
        TensorVector taken = DELIVERED.get();
        if (taken != null) {
            DELIVERED.remove();
            taken.releaseReference();
        }
    }

    /**
     * Joins tensors into one vector. Where their types differ, it has the type that holds them all; LibTorch casts each part's
     * gradient back.
     */
    private static Tensor flat(List<Tensor> tensors) {
        return torch.cat(new TensorVector(
                tensors.stream().map(tensor -> tensor.reshape(-1)).toArray(Tensor[]::new)));
    }

    private static void keep(AdjointHook hook) {
        release();
        synchronized (LIVING) {
            LIVING.removeIf(AdjointHook::outlivedItsGraph);
            hook.witness.retainReference();
            LIVING.add(hook);
        }
    }

    /** Number of graphs that can still be run backward. */
    static int living() {
        synchronized (LIVING) {
            LIVING.removeIf(AdjointHook::outlivedItsGraph);
            return LIVING.size();
        }
    }

    private boolean outlivedItsGraph() {
        if (witness.use_count() > 1) {
            return false;
        }
        witness.releaseReference();
        return true;
    }
}
