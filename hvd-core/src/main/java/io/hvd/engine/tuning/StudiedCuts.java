package io.hvd.engine.tuning;

import io.hvd.engine.message.Tunable;
import io.hvd.engine.submission.PendingOp;
import java.util.List;
import java.util.Optional;

/** The advice of rank 0: from its {@link StepStudy} of the steps, and for settings that are tried. */
public final class StudiedCuts implements CutAdvice {
    private final StepStudy study;
    private final Tuner tuner;
    private Optional<List<List<String>>> proposal = Optional.empty();

    public StudiedCuts(StepStudy study, Tuner tuner) {
        this.study = study;
        this.tuner = tuner;
    }

    @Override
    public void begin(List<List<String>> batches) {
        proposal = Optional.empty();
        study.begin(batches);
        tuner.planBegan();
    }

    @Override
    public void end() {
        tuner.planEnded();
    }

    @Override
    public void ran(List<PendingOp> ops, long begun, List<List<String>> plan) {
        study.ran(ops, begun, System.nanoTime(), plan).ifPresent(better -> proposal = Optional.of(better));
    }

    @Override
    public void endStep(long bytes) {
        if (tuner.ranStep(bytes, System.nanoTime())) {
            proposal = Optional.of(study.cut(tuner.wanted()));
        }
    }

    @Override
    public void startAnew() {
        study.startAnew();
        proposal = Optional.of(List.of());
    }

    @Override
    public Optional<List<List<String>>> proposal() {
        return proposal;
    }

    @Override
    public void tune(Tunable settings) {
        study.tune(settings);
    }

    @Override
    public boolean isLooking() {
        return study.isLooking();
    }

    @Override
    public void observed(String name) {
        study.observed(name);
    }
}
