package io.hvd.engine.tuning;

import io.hvd.config.EngineSettings;
import io.hvd.engine.message.Tunable;
import io.hvd.engine.message.Tuning;
import java.util.Collection;

/** Keeps the settings: autotuning is off, or another rank does it. */
public record NoTuner(Tunable wanted) implements Tuner {
    public static NoTuner of(EngineSettings settings) {
        return new NoTuner(Tunable.of(settings));
    }

    @Override
    public boolean isMeasuring() {
        return false;
    }

    @Override
    public void planBegan() {}

    @Override
    public void planEnded() {}

    @Override
    public void ran(Collection<String> names, long bytes, long nanos) {}

    @Override
    public void ranWithoutSome() {}

    @Override
    public boolean ranStep(long bytes, long nanos) {
        return false;
    }

    @Override
    public Tuning takeWish() {
        return null;
    }

    @Override
    public void applied(Tuning tuning) {}

    @Override
    public void close() {}
}
