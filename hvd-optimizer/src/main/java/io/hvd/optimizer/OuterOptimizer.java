package io.hvd.optimizer;

import io.hvd.optimizer.agreement.SettingsCheck;
import io.hvd.optimizer.exchange.GradientExchange;
import io.hvd.optimizer.step.Binding;
import java.util.Map;
import java.util.function.Supplier;

/** The layers that a program has put around a {@link DistributedOptimizer}: a class through which it steps, and a scale of the losses. */
final class OuterOptimizer {
    /** The class through which a program steps; null if it does so itself. */
    private String owner;
    /** The settings of that class. */
    private Supplier<Map<String, String>> settings = Map::of;
    /** The scaler of the losses; null if none is known. */
    private GradScaler scaler;
    /** Whether gradients of this step had left before the scaler was known. */
    private boolean learntLate;

    /** The class through which a program steps; null if it does so itself. */
    String owner() {
        return owner;
    }

    void owns(String wrapper, Supplier<Map<String, String>> itsSettings, SettingsCheck check) {
        owner = wrapper;
        settings = itsSettings;
        check.compareToo(itsSettings);
    }

    /** Tells another generation of ranks. */
    void rebind(Binding bound) {
        bound.settingsCheck().compareToo(settings);
        if (scaler != null) {
            bound.exchange().lossScale(scaler::scale);
        }
    }

    /** @param isSynchronized whether the gradients of this step are averages already */
    void scaledBy(GradScaler other, GradientExchange exchange, boolean isSynchronized) {
        if (scaler != other) {
            scaler = other;
            exchange.lossScale(other::scale);
            learntLate = !exchange.isBetweenSteps() || isSynchronized;
        }
    }

    /** A step comes without a scale. */
    void notScaled(GradientExchange exchange) {
        if (scaler != null) {
            scaler = null;
            exchange.lossScale(() -> 1);
        }
    }

    /** The gradients of this step are averages. What a reducer has left out of them contains a scale that was learnt late. */
    void averaged(GradientExchange exchange) {
        if (learntLate) {
            learntLate = false;
            exchange.stateLoaded();
        }
    }
}
