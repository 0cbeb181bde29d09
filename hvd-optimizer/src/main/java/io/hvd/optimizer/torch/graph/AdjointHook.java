package io.hvd.optimizer.torch.graph;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;
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
 * <p>The witness is concatenated too, and so tells when the graph ends.
 */
public final class AdjointHook extends GraphHook {
    private final List<OutputHook> outputs;
    private final UnaryOperator<List<Tensor>> adjoint;

    private AdjointHook(List<OutputHook> outputs, UnaryOperator<List<Tensor>> adjoint, Tensor witness) {
        super(witness);
        this.outputs = outputs;
        this.adjoint = adjoint;
    }

    /**
     * Connects outputs without a graph to the inputs, unless these need no gradient or gradients are switched off.
     *
     * @param adjoint from the gradients of the outputs to those of the inputs; must not refer to the outputs,
     *     which would keep the graph alive for ever
     */
    public static void connect(List<Tensor> inputs, List<Tensor> outputs, UnaryOperator<List<Tensor>> adjoint) {
        Optional<Tensor> needy = inputs.stream().filter(Tensor::requires_grad).findFirst();
        if (!GradMode.is_enabled() || needy.isEmpty()) {
            return;
        }
        try (PointerScope scope = new PointerScope()) {
            Tensor witness = witnessOf(needy.get());
            List<Tensor> joined = new ArrayList<>(inputs);
            joined.add(witness);
            Tensor concatenation = flat(joined);
            var hook = new AdjointHook(outputs.stream().map(OutputHook::new).toList(), adjoint, witness);
            hook.outputs.forEach(OutputHook::retainReference); // no scope of the caller's may take them away
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
    protected Tensor replaced(Tensor zeros) {
        List<Tensor> gradients =
                outputs.stream().map(output -> output.taken(witness())).toList();
        try (PointerScope scope = new PointerScope()) {
            return (Tensor) flat(adjoint.apply(gradients)).retainReference();
        } finally {
            gradients.forEach(Tensor::close);
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
}
