package io.hvd.train;

import io.hvd.ObjectCodec;
import io.hvd.data.StateWords;
import io.hvd.data.Stateful;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.train.loop.LoopUse;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Writes a checkpoint at the end of epochs. All ranks decide alike whether one is due, by the mean over all ranks, and call what has
 * to be done together before; then the first rank of the set writes the file. In a second loop the best value begins anew, unless
 * its state was loaded, so the file is then that loop's.
 */
public final class SaveCheckpoint implements Callback, Stateful {
    private final Path file;
    private final Content content;
    /** Null for every so many epochs. */
    private final Goal goal;

    private final int every;
    private Runnable together = () -> {};
    private double best = Double.NaN;
    private final LoopUse use = new LoopUse();

    private SaveCheckpoint(Path file, Content content, Goal goal, int every) {
        this.file = file;
        this.content = content;
        this.goal = goal;
        this.every = every;
    }

    /** The contents of the file. */
    public interface Content {
        /** Makes the checkpoint, on the rank that writes it. */
        Checkpoint of(Training training) throws Exception;
    }

    /** Overwrites the file after every so many epochs. */
    public static SaveCheckpoint everyEpochs(int epochs, Path file, Content content) {
        if (epochs < 1) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "SaveCheckpoint.everyEpochs(" + epochs + "): expected at least 1");
        }
        return new SaveCheckpoint(file, content, null, epochs);
    }

    /** Overwrites the file after each epoch in which a metric has become better than in all epochs before. */
    public static SaveCheckpoint best(Goal goal, Path file, Content content) {
        return new SaveCheckpoint(file, content, goal, 1);
    }

    /**
     * Sets what all ranks do before one of them writes, such as {@code () -> sharded.consolidate(0)} or {@code
     * optimizer::synchronizeBuffers}.
     */
    public SaveCheckpoint after(Runnable collective) {
        this.together = collective;
        return this;
    }

    @Override
    public Place place() {
        return Place.CHECKPOINT;
    }

    /**
     * Finds out before the first step whether the file can be written; the first loop's best value is none of a second one's.
     *
     * @throws HvdException on all ranks, if it cannot
     */
    @Override
    public void trainingBegins(Training training) {
        int root = training.ranks().ranks().get(0);
        String mine = training.ranks().rank() == 0 ? whyNotWritable() : null;
        String why = training.ranks().broadcastObject("training.checkpoint file", mine, ObjectCodec.utf8(), root);
        if (!why.isEmpty()) {
            throw new HvdException(
                    ErrorId.CHECKPOINT_NOT_WRITTEN,
                    "SaveCheckpoint cannot write " + file + " on rank " + root + ", which shows before the first step: "
                            + why);
        }
        if (use.isOver()) {
            best = Double.NaN;
        }
    }

    private String whyNotWritable() {
        Path folder = file.toAbsolutePath().getParent();
        if (!Files.isDirectory(folder)) {
            return "there is no folder " + folder + ": make it first";
        }
        try {
            Checkpoint.requireWritable(file);
            return "";
        } catch (IOException e) {
            return e.getMessage();
        }
    }

    @Override
    public void epochEnds(Training training) throws Exception {
        if (!isDue(training)) {
            return;
        }
        together.run();
        if (training.ranks().rank() == 0) {
            content.of(training).write(file);
        }
    }

    private boolean isDue(Training training) {
        if (goal == null) {
            return (training.epoch() + 1) % every == 0;
        }
        if (training.isRestWithout(goal.metric())) {
            return false;
        }
        use.goesOn();
        double value = training.result(goal.metric()).mean();
        boolean better = goal.isBetter(value, best);
        best = better ? value : best;
        return better;
    }

    /** The best value so far; NaN if there is none, or no metric. */
    @Override
    public Map<String, String> saveState() {
        Map<String, String> words =
                new TreeMap<>(Map.of(StateWords.KIND, "SaveCheckpoint", "best", String.valueOf(best)));
        if (goal != null) {
            words.put(Goal.METRIC, goal.metric());
            words.put(Goal.DIRECTION, goal.direction());
        }
        return words;
    }

    @Override
    public void loadState(Map<String, String> state) {
        use.isLoaded();
        StateWords words = new StateWords("SaveCheckpoint", state);
        words.requireKind("SaveCheckpoint", Set.of("best"));
        if (goal != null && state.containsKey(Goal.METRIC)) {
            goal.requireIn(words);
        }
        best = words.number("best");
    }
}
