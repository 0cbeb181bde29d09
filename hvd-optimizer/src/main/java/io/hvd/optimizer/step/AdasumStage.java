package io.hvd.optimizer.step;

import io.hvd.ProcessSet;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.StepStats;
import io.hvd.optimizer.exchange.GradientsEvent;
import io.hvd.optimizer.exchange.GradientsRecording;
import java.util.List;

/** The inner step with ADASUM, after which the ranks combine how far the parameters have moved. */
record AdasumStage(
        ProcessSet set, AdasumSteps adasum, StateBroadcast broadcast, List<Parameter> parameters, StepProgress progress)
        implements StepStage {
    @Override
    public void run() {
        GradientsEvent wait = GradientsRecording.begun();
        long start = System.nanoTime();
        adasum.step();
        broadcast.parametersOverwritten();
        long bytes = parameters.stream()
                .mapToLong(parameter -> parameter.value().bytes())
                .sum();
        StepStats stats = new StepStats(bytes, 0, bytes, System.nanoTime() - start);
        progress.setLast(stats);
        GradientsRecording.ended(wait, set, stats);
    }
}
