package io.hvd.optimizer.step;

import io.hvd.ProcessSet;
import io.hvd.optimizer.agreement.SettingsCheck;
import io.hvd.optimizer.exchange.GradientExchange;
import io.hvd.optimizer.guard.FiniteSteps;
import io.hvd.optimizer.precision.WireRange;

/**
 * Everything of an optimizer that belongs to the ranks of one generation: how its gradients travel, what is compared and what is
 * refused. In the next generation the optimizer gets another one.
 *
 * @param alone whether gradients stay on this rank
 * @param adasum null unless the operation is ADASUM
 * @param range null without range control
 */
public record Binding(
        ProcessSet set,
        boolean alone,
        AdasumSteps adasum,
        SettingsCheck settingsCheck,
        WireRange range,
        GradientExchange exchange,
        StepRules rules,
        Replicas replicas,
        GradientVote vote,
        FiniteSteps finite,
        StepGradients gradients) {
    /** Whether the ranks combine how far their parameters have moved. */
    public boolean combinesMoves() {
        return adasum != null;
    }

    boolean trainsTogether() {
        return !alone || combinesMoves();
    }

    /** Has the gradients go this way from now on. */
    public void begin() {
        gradients.begin();
    }

    /** Waits for what is in flight, and gives back what is prepared. */
    public void giveBack() {
        exchange.close();
        finite.forget();
        exchange.startOver();
        settingsCheck.startOver();
        vote.vote().close();
    }
}
