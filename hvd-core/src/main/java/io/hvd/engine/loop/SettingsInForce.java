package io.hvd.engine.loop;

import io.hvd.config.EngineSettings;
import io.hvd.engine.message.Tunable;
import io.hvd.engine.message.Tuning;
import io.hvd.engine.submission.TensorQueue;
import io.hvd.engine.tuning.CutAdvice;
import io.hvd.engine.tuning.Tuner;
import io.hvd.spi.DataPlane;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/** The settings that autotuning may change, as they hold on this rank. */
public final class SettingsInForce {
    private final TensorQueue queue;
    private final DataPlane data;
    private final CutAdvice advice;
    private final Tuner tuner;
    private final AtomicBoolean optimizersRegroup;
    /** What was tuned last; any thread may read it. */
    private volatile Tuning tuning;

    /**
     * @param data the data plane of all ranks
     * @param optimizersRegroup set when an optimizer asks for its buckets between its steps
     */
    SettingsInForce(
            EngineSettings start,
            TensorQueue queue,
            DataPlane data,
            CutAdvice advice,
            Tuner tuner,
            AtomicBoolean optimizersRegroup) {
        this.tuning = new Tuning(Tunable.of(start), "");
        this.queue = queue;
        this.data = data;
        this.advice = advice;
        this.tuner = tuner;
        this.optimizersRegroup = optimizersRegroup;
        if (start.levels() == 1) {
            data.levels().choose(false);
        }
    }

    /** The variables with the values that hold on this rank; any thread. */
    public Map<String, String> variables() {
        return tuning.settings().variables();
    }

    /** What autotuning has found, in a line; empty before its end, or if it is off. Any thread. */
    public Optional<String> result() {
        return Optional.of(tuning.result()).filter(result -> !result.isEmpty());
    }

    /**
     * The bytes at which an optimizer of all ranks closes a group of gradients, 0 for its own choice; any thread.
     *
     * @param regroups whether the optimizer asks between its steps, so that tuning is worth while
     */
    public long bucketBytes(boolean regroups) {
        if (regroups && !optimizersRegroup.get()) {
            optimizersRegroup.set(true);
        }
        return tuning.settings().bucketBytes();
    }

    /** What all ranks are to be told, once; null if nothing is. Only the communication thread asks. */
    Tuning takeWish() {
        return tuner.takeWish();
    }

    /** Settings have come with a plan; only the communication thread calls this. */
    void apply(Tuning arrived) {
        Tunable before = tuning.settings();
        Tunable now = arrived.settings();
        tuning = arrived;
        queue.tune(Math.max(1, now.fusionThresholdBytes()), now.cycleNanos());
        if (now.levels() != before.levels()) {
            data.levels().choose(now.levels() == 2);
        }
        advice.tune(now);
        tuner.applied(arrived);
    }

    /** The job ends. */
    void close() {
        tuner.close();
    }
}
