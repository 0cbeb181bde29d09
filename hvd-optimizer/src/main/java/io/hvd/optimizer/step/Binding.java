package io.hvd.optimizer.step;

import io.hvd.ProcessSet;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.agreement.SettingsCheck;
import io.hvd.optimizer.exchange.GradientExchange;
import io.hvd.optimizer.exchange.LocalParameters;
import io.hvd.optimizer.guard.DivergenceGuard;
import io.hvd.optimizer.guard.FiniteSteps;
import io.hvd.optimizer.precision.OverflowVote;
import io.hvd.optimizer.precision.WireRange;

/**
 * Everything of an optimizer that belongs to the ranks of one generation: how its gradients travel, what is compared and what is
 * refused. In the next generation the optimizer gets another one.
 *
 * @param alone whether gradients stay on this rank
 * @param range null without range control
 * @param adasum null unless the operation is ADASUM
 * @param source null if the wrapped optimizer does not announce its gradients, or they stay on this rank
 */
public record Binding(
        ProcessSet set,
        boolean alone,
        SettingsCheck settingsCheck,
        WireRange range,
        GradientExchange exchange,
        StepRules rules,
        AdasumSteps adasum,
        ModelBuffers buffers,
        DivergenceGuard guard,
        StateBroadcast broadcast,
        OverflowVote vote,
        LocalParameters.Norms norms,
        FiniteSteps finite,
        GradientSource source) {
    /**
     * Has the gradients go this way from now on.
     *
     * @param announces whether the wrapped optimizer announces its gradients, here or elsewhere
     */
    public void begin(boolean announces) {
        if (!announces) {
            finite.watch(exchange);
        }
        if (source != null) {
            if (source.keepsUntilStaged()) {
                exchange.mayTravelLate();
            }
            source.listen(exchange);
        }
    }

    /** Waits for what is in flight, and gives back what is prepared. */
    public void giveBack() {
        exchange.close();
        finite.forget();
        exchange.startOver();
        settingsCheck.startOver();
        vote.close();
    }
}
