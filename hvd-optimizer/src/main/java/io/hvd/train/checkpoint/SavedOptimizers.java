package io.hvd.train.checkpoint;

import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.ElasticShares;
import io.hvd.optimizer.NamedState;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;

/** The optimizer's states in the checkpoints of a folder. */
record SavedOptimizers(CheckpointFolder folder) implements ElasticShares.Saved {
    private static final HvdLogger LOG = HvdLogger.of(SavedOptimizers.class);

    @Override
    public OptionalLong offer(Consumer<NamedState> taker) {
        for (long step : steps()) {
            for (Path path : folder.wholes(step)) {
                try {
                    taker.accept(ResumableParts.state(
                            Checkpoint.read(path, name -> name.startsWith(ResumableParts.OPTIMIZER))));
                    return OptionalLong.of(step);
                } catch (HvdException e) {
                    LOG.warn("no optimizer's state is taken from {}: {}", path, e.words());
                } catch (IOException e) {
                    LOG.warn("no optimizer's state is taken from {}: {}", path, e.getMessage());
                }
            }
        }
        return OptionalLong.empty();
    }

    private List<Long> steps() {
        try {
            return folder.steps();
        } catch (IOException e) {
            LOG.warn(
                    "no optimizer's state is taken from {}, which cannot be read: {}", folder.folder(), e.getMessage());
            return List.of();
        }
    }
}
