package io.hvd.optimizer.djl;

import ai.djl.training.Trainer;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.LoggingTrainingListener;
import ai.djl.training.listener.MemoryTrainingListener;
import ai.djl.training.listener.SaveModelTrainingListener;
import ai.djl.training.listener.TimeMeasureTrainingListener;
import ai.djl.training.listener.TrainingListener;
import io.hvd.HvdContext;
import java.util.List;
import java.util.function.Consumer;

/**
 * The listeners of a training, of which a rank alone decides nothing. What a listener throws within an epoch is kept until all ranks
 * meet, before the next step or at the end of the epoch, and then ends the training of all. DJL's own listeners that write
 * to the console or to files run on the first rank only.
 */
final class ListenersTogether implements TrainingListener {
    private static final List<String> MERGED =
            List.of(EvaluatorTrainingListener.TRAIN_EPOCH, EvaluatorTrainingListener.VALIDATE_EPOCH);

    private final HvdContext hvd;
    private final List<TrainingListener> listeners;
    private final List<TrainingListener> here;
    private final EvaluatorTotals totals;
    /** Null if nothing has been thrown since the ranks have met. */
    private RuntimeException thrown;

    ListenersTogether(HvdContext hvd, List<TrainingListener> listeners) {
        this.hvd = hvd;
        this.listeners = List.copyOf(listeners);
        this.here = this.listeners.stream()
                .filter(listener -> hvd.rank() == 0 || !writes(listener))
                .toList();
        this.totals = new EvaluatorTotals(hvd);
    }

    private static boolean writes(TrainingListener listener) {
        return listener instanceof LoggingTrainingListener
                || listener instanceof SaveModelTrainingListener
                || listener instanceof MemoryTrainingListener
                || listener instanceof TimeMeasureTrainingListener;
    }

    /** The listeners that the program has given. */
    List<TrainingListener> listeners() {
        return listeners;
    }

    boolean haveThrown() {
        return thrown != null;
    }

    /** A collective: ends the training on all ranks if a listener has thrown on any. */
    void meet() {
        RuntimeException mine = thrown;
        thrown = null;
        ListenerFailures.throwTogether(hvd, mine);
    }

    /** A collective. The listeners see the totals of all ranks. */
    @Override
    public void onEpoch(Trainer trainer) {
        meet();
        totals.merge(trainer.getEvaluators(), MERGED);
        tellAll(listener -> listener.onEpoch(trainer));
        meet();
    }

    @Override
    public void onTrainingBatch(Trainer trainer, BatchData batchData) {
        tellAll(listener -> listener.onTrainingBatch(trainer, batchData));
    }

    @Override
    public void onValidationBatch(Trainer trainer, BatchData batchData) {
        tellAll(listener -> listener.onValidationBatch(trainer, batchData));
    }

    @Override
    public void onTrainingBegin(Trainer trainer) {
        here.forEach(listener -> listener.onTrainingBegin(trainer));
    }

    @Override
    public void onTrainingEnd(Trainer trainer) {
        here.forEach(listener -> listener.onTrainingEnd(trainer));
    }

    private void tellAll(Consumer<TrainingListener> event) {
        try {
            here.forEach(event);
        } catch (RuntimeException e) {
            if (thrown == null) {
                thrown = e;
            } else {
                thrown.addSuppressed(e);
            }
        }
    }
}
