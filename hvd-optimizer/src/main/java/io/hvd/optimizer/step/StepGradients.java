package io.hvd.optimizer.step;

import io.hvd.error.HvdException;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.exchange.GradientExchange;
import io.hvd.optimizer.guard.FiniteSteps;

/** How the gradients of backward become those of the step, which is its first stage. */
public abstract sealed class StepGradients implements StepStage permits StayingGradients, TravellingGradients {
    /** Null if the wrapped optimizer does not announce its gradients. */
    final GradientSource source;

    final GradientExchange exchange;
    final StepRules rules;
    final FiniteSteps finite;
    final StepProgress progress;

    StepGradients(
            GradientSource source,
            GradientExchange exchange,
            StepRules rules,
            FiniteSteps finite,
            StepProgress progress) {
        this.source = source;
        this.exchange = exchange;
        this.rules = rules;
        this.finite = finite;
        this.progress = progress;
    }

    /** Has the gradients go this way from now on. */
    void begin() {
        if (source == null) {
            finite.watch(exchange);
        }
    }

    /** @throws HvdException if there was none since the last step, as far as is known */
    public abstract void requireBackward();

    /** @param look whether gradients that are not finite are to be found */
    public abstract void synchronize(boolean look);

    /** Puts the gradients where the parameters promise them, if nothing has done so in this step. */
    abstract void gatherForStep();

    /** Looks for numbers that are not finite, if nothing has done so in this step. */
    abstract void lookForStep();

    /** Gives up the gradients that are being averaged. */
    public abstract void drop();
}
