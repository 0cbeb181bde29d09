package io.hvd.optimizer.step;

import io.hvd.ProcessSet;
import io.hvd.optimizer.Adasum;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.Parameter;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/**
 * Steps by {@link Adasum}: each rank's optimizer steps by its own gradients, and what is combined is how far the parameters
 * have moved, since only that has the right length where an optimizer rescales its gradients.
 */
public final class AdasumSteps {
    private final Optimizer inner;
    private final Adasum adasum;
    private final List<Tensor> values;
    private final String name;

    /** @param scope what the names of its tensors begin with */
    public AdasumSteps(ProcessSet set, Optimizer inner, List<Parameter> parameters, String scope) {
        this.inner = inner;
        this.adasum = new Adasum(set);
        this.values = parameters.stream().map(Parameter::value).toList();
        this.name = scope + "adasum";
        new FlatTensors(name, values); // refuses what cannot be combined, before the first step
    }

    /** Every rank comes here in every step. */
    public void step() {
        List<double[]> starts = values.stream().map(FlatTensors::doubles).toList();
        inner.step();
        List<Tensor> moves = new ArrayList<>();
        for (int i = 0; i < starts.size(); i++) {
            double[] move = FlatTensors.doubles(values.get(i));
            double[] start = starts.get(i);
            for (int j = 0; j < move.length; j++) {
                move[j] -= start[j];
            }
            moves.add(FlatTensors.tensorOf(move, values.get(i)));
        }
        adasum.allreduce(name, moves);
        for (int i = 0; i < starts.size(); i++) {
            double[] value = starts.get(i);
            double[] move = FlatTensors.doubles(moves.get(i));
            for (int j = 0; j < move.length; j++) {
                value[j] += move[j];
            }
            values.get(i).copyFrom(FlatTensors.tensorOf(value, values.get(i)));
        }
    }
}
