package io.hvd.optimizer.torch;

import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorTensorHook;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Gives tensors that were computed outside LibTorch a place in its graph, with a gradient in Java.
 *
 * <p>JavaCPP lets no Java class be a node of the graph, but it lets one look at the gradient of a tensor, and
 * replace it by another of the same shape. The inputs are therefore concatenated, because LibTorch makes a node of the
 * concatenation. This node is declared to have made the outputs too. Then an empty part of the concatenation is added
 * to the outputs, which changes none of their elements, but gives the concatenation a gradient of zeros whenever an
 * output has a gradient:
 * <pre>
 *                      ┌── outputs ───────────────── scatter_add ── outputs
 *   inputs, flat ── cat                                   │
 *                      └── concatenation ── nothing ──────┘
 * </pre>
 * Before LibTorch runs the node backward it calls the hooks of all these tensors in the order in which they were
 * registered, one after the other on one thread, with the sums over all uses of the outputs in that pass. Those of the outputs
 * ({@link OutputHook}) only note what they see; this one comes last and puts the adjoint in the place of the zeros. Nothing is
 * kept from one pass to the next, and a pass that goes no further than the outputs does not come here.
 *
 * <p>Native code holds hooks weakly, so {@link #LIVING} keeps them as long as their graph can run. The witness tells
 * when that ends: it is an empty leaf to which only the hook and the graph refer.
 */
final class AdjointHook extends TensorTensorHook {
    /** What native code may call: the graphs belong to the process, not to a context. */
    private static final List<AdjointHook> LIVING = new ArrayList<>();
    /** What a hook returned last on this thread: LibTorch takes its own references after the hook has ended. */
    private static final ThreadLocal<Tensor> DELIVERED = new ThreadLocal<>();

    private final List<OutputHook> outputs;
    private final UnaryOperator<List<Tensor>> adjoint;
    private final Tensor witness;

    private AdjointHook(List<OutputHook> outputs, UnaryOperator<List<Tensor>> adjoint, Tensor witness) {
        this.outputs = outputs;
        this.adjoint = adjoint;
        this.witness = witness;
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
            Tensor concatenation = flat(joined);
            var hook = new AdjointHook(outputs.stream().map(OutputHook::new).toList(), adjoint, witness);
            keep(hook);
            hook.register(concatenation, outputs);
            addNothing(concatenation, outputs);
        }
    }

    private void register(Tensor concatenation, List<Tensor> connected) {
        Node cat = concatenation.grad_fn();
        for (int i = 0; i < connected.size(); i++) {
            if (connected.get(i).is_floating_point()) {
                torch.create_gradient_edge(connected.get(i), cat);
                connected.get(i).register_hook(outputs.get(i));
            }
        }
        concatenation.register_hook(this);
    }

    private static void addNothing(Tensor concatenation, List<Tensor> outputs) {
        Tensor nothing = concatenation.narrow(0, 0, 0);
        Tensor nowhere = nothing.detach().to(ScalarType.Long);
        outputs.stream()
                .filter(Tensor::is_floating_point)
                .forEach(output -> output.scatter_add_(0, nowhere, nothing.to(output.scalar_type())));
    }

    @Override
    public TensorBase call(TensorBase zeros) {
        List<Tensor> gradients =
                outputs.stream().map(output -> output.taken(witness)).toList();
        try (PointerScope scope = new PointerScope()) {
            return deliver(flat(adjoint.apply(gradients)));
        } catch (HvdException e) {
            throw HookFailures.remembered(e);
        } finally {
            gradients.forEach(Tensor::close);
            zeros.close();
        }
    }

    private static Tensor deliver(Tensor gradient) {
        release();
        DELIVERED.set(gradient.retainReference());
        return gradient;
    }

    private static void release() {
        Tensor taken = DELIVERED.get();
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

    /** No scope of the caller's may take away what the list holds. */
    private static void keep(AdjointHook hook) {
        release();
        hook.witness.retainReference();
        hook.outputs.forEach(OutputHook::retainReference);
        synchronized (LIVING) {
            LIVING.removeIf(AdjointHook::outlivedItsGraph);
            LIVING.add(hook.retainReference());
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
