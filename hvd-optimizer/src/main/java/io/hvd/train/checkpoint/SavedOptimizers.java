package io.hvd.train.checkpoint;

import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.ElasticShares;
import io.hvd.optimizer.NamedState;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * The optimizer's states in the checkpoints of a folder, into which another process may write meanwhile: what has come to a step while it was
 * read is looked at before an older step.
 */
record SavedOptimizers(CheckpointFolder folder) implements ElasticShares.Saved {
    private static final HvdLogger LOG = HvdLogger.of(SavedOptimizers.class);

    @Override
    public OptionalLong offer(Consumer<NamedState> taker) {
        for (long step : steps()) {
            Map<Path, String> listed = wholes(step);
            if (isAnyTaken(listed.keySet(), taker)) {
                return OptionalLong.of(step);
            }
            Map<Path, String> others = wholes(step); // a set may have been replaced meanwhile
            others.entrySet().removeAll(listed.entrySet());
            if (isAnyTaken(others.keySet(), taker)) {
                return OptionalLong.of(step);
            }
        }
        return OptionalLong.empty();
    }

    /** The file and the folders of a step, with what tells them from others that get their names. */
    private Map<Path, String> wholes(long step) {
        Map<Path, String> wholes = new LinkedHashMap<>();
        for (Path path : folder.wholes(step)) {
            try {
                Object key =
                        Files.readAttributes(path, BasicFileAttributes.class).fileKey();
                wholes.put(path, String.valueOf(key));
            } catch (IOException e) {
                LOG.debug("{} has gone: {}", path, e.toString());
            }
        }
        return wholes;
    }

    private static boolean isAnyTaken(Set<Path> paths, Consumer<NamedState> taker) {
        for (Path path : paths) {
            try {
                taker.accept(
                        ResumableParts.state(Checkpoint.read(path, name -> name.startsWith(ResumableParts.OPTIMIZER))));
                return true;
            } catch (HvdException e) {
                LOG.warn("no optimizer's state is taken from {}: {}", path, e.words());
            } catch (IOException e) {
                LOG.warn("no optimizer's state is taken from {}: {}", path, e.getMessage());
            }
        }
        return false;
    }

    /** The last one first, from two listings: in one the name of a set that is replaced meanwhile may be missing. */
    private SortedSet<Long> steps() {
        SortedSet<Long> steps = new TreeSet<>(Comparator.reverseOrder());
        try {
            steps.addAll(folder.steps());
            steps.addAll(folder.steps());
        } catch (IOException e) {
            LOG.warn(
                    "no optimizer's state is taken from {}, which cannot be read: {}", folder.folder(), e.getMessage());
        }
        return steps;
    }
}
