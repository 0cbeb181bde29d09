package io.hvd.optimizer.exchange;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.ProcessSet;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.Parameter;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * Names the parameters that no backward pass of the first step has reached, once and on one rank. They count as zeros where
 * another rank has reached them, and stay as they are where none has, which is right but seldom meant.
 *
 * <p>The ranks add up how many of them have not reached each parameter, beside the first gradients. Nobody waits for the sum:
 * it is looked at after this step and the next ones.
 */
public final class UnusedParameters {
    private static final HvdLogger LOG = HvdLogger.of(UnusedParameters.class);

    private final ProcessSet set;
    private final String name;
    private final List<String> parameters;
    /** The number of joins when the ranks last added up. */
    private int joins;

    private boolean begun;
    /** By parameter, the number of ranks. */
    private int[] missed;
    /** Null if nothing is under way. */
    private Handle exchange;

    public UnusedParameters(ProcessSet set, String scope, List<Parameter> parameters) {
        this.set = set;
        this.name = scope + "unused";
        this.parameters = parameters.stream().map(Parameter::name).toList();
    }

    /** Whether this is the first step since all ranks last joined; some may have built the optimizer since. */
    boolean isDue() {
        return !begun || set.size() > 1 && joins != set.forOptimizers().joins();
    }

    /**
     * Every rank comes here in such a step, before it waits for gradients. A rank that has done so before a join counts for nothing.
     *
     * @param here indices of the parameters that this rank's backward has not reached
     */
    void begin(List<Integer> here) {
        boolean counts = !begun;
        begun = true;
        joins = set.forOptimizers().joins();
        if (exchange != null) {
            end(); // it came with a step before the join
        }
        missed = new int[parameters.size()];
        if (counts) {
            here.forEach(parameter -> missed[parameter] = 1);
        }
        if (set.size() > 1) {
            exchange = set.allreduceInPlaceAsync(name, Tensor.of(missed), AllreduceOptions.sum());
        } else {
            show();
        }
    }

    /** Shows what has come by now. */
    void look() {
        if (exchange != null && exchange.isDone()) {
            end();
        }
    }

    private void end() {
        try {
            exchange.synchronize();
            show();
        } catch (HvdException e) {
            LOG.debug("which parameters are unused is not known", e);
        }
        exchange = null;
    }

    private void show() {
        TreeMap<Integer, List<String>> namesByRanks = new TreeMap<>();
        for (int i = 0; i < missed.length; i++) {
            if (missed[i] > 0) {
                namesByRanks
                        .computeIfAbsent(missed[i], ranks -> new ArrayList<>())
                        .add("\"" + parameters.get(i) + "\" (" + i + ")");
            }
        }
        if (set.rank() == 0 && !namesByRanks.isEmpty()) {
            List<String> words = new ArrayList<>();
            namesByRanks
                    .descendingMap()
                    .forEach((ranks, names) ->
                            words.add("on " + ranks + " of " + set.size() + " ranks " + String.join(", ", names)));
            LOG.warn(
                    "no backward pass of the first step has reached these parameters, by name and index: {}. Where"
                            + " other ranks have reached them, they count as zeros; what no rank reaches, LibTorch's step"
                            + " leaves as it is. Their gradients travel all the same. Leave out of the model what is"
                            + " never used, or freeze it before the optimizer is made",
                    String.join("; ", words));
        }
    }
}
