package io.hvd.optimizer.exchange;

import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.gradients.HostGradients;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntToDoubleFunction;

/** Puts the gradients that backward has left elsewhere where they travel. */
final class GradientStaging {
    private final BackwardPasses passes;
    private final IntToDoubleFunction weight;
    /** Weighs gradients that do not announce themselves. */
    private final HostGradients plain;

    /** @param weight the factor of each gradient, by parameter */
    GradientStaging(List<Parameter> parameters, BackwardPasses passes, IntToDoubleFunction weight) {
        this.passes = passes;
        this.weight = weight;
        this.plain = new HostGradients(parameters);
    }

    void weigh(int parameter) {
        plain.multiplyGradient(parameter, weight.applyAsDouble(parameter));
    }

    /** Adds the gradients that are not where they travel. */
    void addUnstaged(List<Integer> from, BucketSchedule schedule, List<Integer> to) {
        for (int i = 0; i < from.size(); i++) {
            int parameter = from.get(i);
            if (!passes.isComplete(parameter) || schedule.keeps(parameter)) {
                to.add(from.get(i));
            }
        }
    }

    /** @param source null if gradients do not announce themselves */
    void stage(List<Integer> unstaged, GradientSource source) {
        if (source == null) {
            unstaged.forEach(this::weigh);
            return;
        }
        List<Integer> kept = new ArrayList<>();
        List<Integer> others = new ArrayList<>();
        for (int i = 0; i < unstaged.size(); i++) {
            (passes.isComplete(unstaged.get(i)) ? kept : others).add(unstaged.get(i));
        }
        source.stageKept(kept);
        source.stageAll(others);
    }
}
