package io.hvd.engine.tuning;

import io.hvd.engine.message.Tunable;
import io.hvd.engine.submission.PendingOp;
import java.util.List;
import java.util.Optional;

/** The advice of a rank that leaves the cuts to rank 0. */
public final class NoCutAdvice implements CutAdvice {
    @Override
    public void begin(List<List<String>> batches) {}

    @Override
    public void end() {}

    @Override
    public void ran(List<PendingOp> ops, long begun, List<List<String>> plan) {}

    @Override
    public void endStep(long bytes) {}

    @Override
    public void startAnew() {}

    @Override
    public Optional<List<List<String>>> proposal() {
        return Optional.empty();
    }

    @Override
    public void tune(Tunable settings) {}

    @Override
    public boolean isLooking() {
        return false;
    }

    @Override
    public void observed(String name) {}
}
