package io.hvd.optimizer.guard;

import io.hvd.error.HvdException;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.agreement.SettingsCheck;
import io.hvd.optimizer.exchange.GradientExchange;

/** When in a step gradients that are not finite are looked for, and when the step is refused; nothing, where such steps are made. */
public final class FiniteSteps {
    /** Null where such steps are made. */
    private final NonFiniteCheck check;

    private final SettingsCheck settings;

    public FiniteSteps(NonFiniteCheck check, SettingsCheck settings) {
        this.check = check;
        this.settings = settings;
    }

    /** Has the exchange show each rank's own gradients of an optimizer which keeps none. */
    public void watch(GradientExchange exchange) {
        if (check != null) {
            exchange.beforeLeaving(check::leaving);
        }
    }

    /** Whether steps are refused at all. */
    public boolean areRequired() {
        return check != null;
    }

    /**
     * The gradients are averages now.
     *
     * @param wanted whether those that are not finite are to be found, which a loss scale makes on purpose
     * @param source null if the wrapped optimizer does not announce its gradients
     */
    public void look(boolean wanted, GradientSource source) {
        if (check == null) {
            return;
        }
        if (!wanted) {
            check.forget();
            return;
        }
        if (source != null) {
            source.arrived();
        }
        compareSettingsBeforeAsking();
        check.look(source);
    }

    /** Looks at gradients that stay on this rank. */
    public void lookAlone(boolean wanted) {
        if (check != null && wanted) {
            compareSettingsBeforeAsking();
            check.lookAlone();
        }
    }

    /** A rank that does not look would not answer. */
    private void compareSettingsBeforeAsking() {
        if (check.asks()) {
            settings.begin();
            settings.end();
        }
    }

    /**
     * A step is about to change parameters.
     *
     * @throws HvdException on all ranks, if a gradient of any of them is not finite
     */
    public void require() {
        if (check != null) {
            check.requireFinite();
            check.stepped();
        }
    }

    /**
     * A step ends that changes nothing.
     *
     * @param isNormal whether a loss scale explains why gradients are not finite
     * @throws HvdException if they are not finite, and no loss scale explains it
     */
    public void skip(boolean isNormal) {
        if (isNormal) {
            forget();
        }
        require();
    }

    /** The number of steps so far, as messages count them. */
    public long steps() {
        return check == null ? 0 : check.steps();
    }

    /** Forgets the finding. */
    public void forget() {
        if (check != null) {
            check.forget();
        }
    }
}
