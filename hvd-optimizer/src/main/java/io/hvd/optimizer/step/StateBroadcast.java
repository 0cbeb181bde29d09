package io.hvd.optimizer.step;

import io.hvd.ProcessSet;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.NamedBroadcast;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.agreement.StepSkew;
import io.hvd.optimizer.exchange.GradientExchange;
import io.hvd.optimizer.exchange.LocalParameters;
import io.hvd.optimizer.precision.ScalerState;
import io.hvd.tensor.JoinDivisor;
import io.hvd.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntPredicate;

/** Gives all ranks what one of them has: the parameters, the optimizer's state, and after a join the buffers too. */
public final class StateBroadcast {
    private static final String NAME = "broadcast_optimizer_state";

    private final Optimizer inner;
    private final IntPredicate hasWhole;
    private final ProcessSet set;
    /** The parameters that all ranks have in common. */
    private final List<Parameter> shared;

    private final LocalParameters local;
    private final ModelBuffers buffers;
    private final GradientExchange exchange;
    private final StepRules rules;
    private final StepSkew skew;
    private boolean done;

    /** @param hasWhole finds out whether a global rank has the whole of a state that is shared out; a collective */
    public StateBroadcast(
            Optimizer inner,
            IntPredicate hasWhole,
            ProcessSet set,
            List<Parameter> shared,
            LocalParameters local,
            ModelBuffers buffers,
            GradientExchange exchange,
            StepRules rules) {
        this.inner = inner;
        this.hasWhole = hasWhole;
        this.set = set;
        this.shared = shared;
        this.local = local;
        this.buffers = buffers;
        this.exchange = exchange;
        this.rules = rules;
        this.skew = new StepSkew(set);
    }

    /** Whether the ranks have had the same parameters by this optimizer. */
    public boolean isDone() {
        return done;
    }

    /** Overwrites the parameters of every rank with those of the root. */
    public void parameters(int root) {
        Map<String, Tensor> values = new LinkedHashMap<>();
        if (inner instanceof GradientSource own) {
            own.requireInPlace();
        }
        shared.stream().filter(this::travels).forEach(parameter -> values.put(parameter.name(), parameter.value()));
        set.broadcastParameters(values, root);
        done = true;
        parametersOverwritten();
    }

    /** A single rank need not broadcast its parameters; on a GPU, its back end might not even be able to. */
    private boolean travels(Parameter parameter) {
        return set.size() > 1 || parameter.value().device().isCpu();
    }

    /** Parameters have other values, which did not come from a step of the wrapped optimizer. */
    public void parametersOverwritten() {
        if (inner instanceof GradientSource own) {
            own.overwritten();
        }
    }

    /** @param whole the optimizer whose state it is */
    public void optimizerState(int root, Optimizer whole) {
        rules.requireSharedState("broadcastOptimizerState(...)", local);
        boolean isRoot = set.ranks().get(set.rank()) == root;
        if (!hasWhole.test(root)) {
            rate(root, isRoot, whole);
            return;
        }
        NamedState state = NamedBroadcast.of(set, NAME, isRoot ? whole.wholeState() : null, root, whole::keepsStateOf);
        if (!isRoot) {
            whole.loadNamedState(state);
        }
    }

    /** Where the root has its share alone, each rank keeps its own, which no other has. */
    private void rate(int root, boolean isRoot, Optimizer whole) {
        double[] rate = {whole.learningRate()};
        set.broadcastInPlace(NAME + ".rate", Tensor.of(rate), root);
        whole.learningRate(rate[0]);
        if (whole instanceof AmpOptimizer amp) {
            scale(root, isRoot, amp);
        }
    }

    private void scale(int root, boolean isRoot, AmpOptimizer amp) {
        NamedState words =
                isRoot ? new NamedState(new TreeMap<>(), amp.namedState().words()) : null;
        Map<String, Double> scale =
                ScalerState.of(NamedBroadcast.of(set, NAME + ".scaler", words, root, parameter -> false));
        if (!isRoot && !scale.isEmpty()) {
            amp.scaler().loadStateDict(scale);
        }
    }

    /**
     * Waits until all ranks have no more data, and gives them what the last one has.
     *
     * @param whole the optimizer whose state it is
     * @return the global rank that was last
     */
    public int join(JoinDivisor divisor, Optimizer whole) {
        rules.requireSharedState("join(...)", local);
        int last = set.join(divisor);
        skew.joined(exchange.steps());
        parameters(last);
        optimizerState(last, whole);
        buffers.takeFrom(last);
        return last;
    }
}
