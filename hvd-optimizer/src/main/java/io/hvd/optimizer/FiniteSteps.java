package io.hvd.optimizer;

import io.hvd.error.HvdException;

/** When in a step gradients that are not finite are looked for, and when the step is refused; nothing, where such steps are made. */
final class FiniteSteps {
    /** Null where such steps are made. */
    private final NonFiniteCheck check;

    private final SettingsCheck settings;

    FiniteSteps(NonFiniteCheck check, SettingsCheck settings) {
        this.check = check;
        this.settings = settings;
    }

    /** Has the exchange show each rank's own gradients of an optimizer which keeps none. */
    void watch(GradientExchange exchange) {
        if (check != null) {
            exchange.beforeLeaving(check::leaving);
        }
    }

    /** Whether steps are refused at all. */
    boolean areRequired() {
        return check != null;
    }

    /**
     * The gradients are averages now.
     *
     * @param wanted whether those that are not finite are to be found, which a loss scale makes on purpose
     * @param source null if the wrapped optimizer does not announce its gradients
     */
    void look(boolean wanted, GradientSource source) {
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
    void lookAlone(boolean wanted) {
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
    void require() {
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
    void skip(boolean isNormal) {
        if (isNormal) {
            forget();
        }
        require();
    }

    /** What was found no longer counts. */
    void forget() {
        if (check != null) {
            check.forget();
        }
    }
}
