package io.hvd.train.checkpoint;

import io.hvd.Elastic;
import io.hvd.data.ResumableSampler;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Optimizer;
import io.hvd.train.Callback;
import io.hvd.train.Training;
import java.util.Objects;

/**
 * Makes a {@code TrainingLoop} inside of {@link Elastic#run} commit directly behind every step of its optimizer, and go on in the middle
 * of an epoch in the next generation: Horovod's {@code CommitStateCallback}, {@code UpdateBatchStateCallback} and {@code
 * UpdateEpochStateCallback} in one.
 *
 * <pre>{@code
 * Elastic.run(state, elastic -> TrainingLoop.of(elastic.context(), state.optimizer())
 *         .with(new CommitState(elastic, state))
 *         .run(epochs, loader, step));
 * }</pre>
 *
 * <p>The state has the {@code ResumableSampler} of the loop's loader, and other callbacks with a state, such as {@code EarlyStop}, which
 * the program makes before {@code Elastic.run}. The averages of an epoch are over the samples that the ranks have seen which are there
 * at its end. A loss in an evaluation has the evaluation made again. {@code AutoResume} goes by files, so it does not go with this one.
 */
public final class CommitState implements Callback {
    private final Elastic elastic;
    private final TrainingState<?> state;
    private final ResumableSampler sampler;
    private long steps;
    /** Whether the next epoch to begin may be the rest of one of an earlier generation. */
    private boolean goesOn;

    /** @param state which {@link Elastic#run} was given */
    public CommitState(Elastic elastic, TrainingState<?> state) {
        this.elastic = Objects.requireNonNull(elastic, "elastic");
        this.state = Objects.requireNonNull(state, "state");
        this.sampler = state.sampler();
        this.goesOn = state.batches() > 0;
    }

    @Override
    public Place place() {
        return Place.BROADCAST;
    }

    @Override
    public void trainingBegins(Training training) {
        training.resumeAt(sampler.epoch(), sampler.done(), state.batches());
        steps = stepsTried(training.optimizer());
    }

    @Override
    public void epochBegins(Training training) {
        if (goesOn) {
            training.metrics().resume(state.metrics(training.epoch()));
            goesOn = false;
        }
    }

    /** Before any other callback sees the batch. */
    @Override
    public void batchEnds(Training training) {
        long now = stepsTried(training.optimizer());
        if (now != steps) {
            steps = now;
            state.loopCommits(training);
            elastic.commit();
        }
    }

    /** Changes with each step, also with one that was skipped. */
    private long stepsTried(Optimizer optimizer) {
        if (optimizer instanceof AmpOptimizer amp) {
            return amp.stepsMade() + amp.skippedSteps();
        }
        return optimizer instanceof DistributedOptimizer distributed ? distributed.stepsMade() : steps + 1;
    }
}
