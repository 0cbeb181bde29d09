package io.hvd.train.checkpoint;

import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.ElasticShares;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;

/** The optimizer's states in the checkpoints of a folder. */
record SavedOptimizers(CheckpointFolder folder) implements ElasticShares.Saved {
    private static final HvdLogger LOG = HvdLogger.of(SavedOptimizers.class);

    @Override
    public OptionalLong offer(Consumer<byte[]> taker) {
        for (long step : steps()) {
            try {
                taker.accept(state(step));
                return OptionalLong.of(step);
            } catch (HvdException e) {
                LOG.warn("no optimizer's state is taken from {}: {}", folder.file(step), e.words());
            } catch (IOException e) {
                LOG.warn("no optimizer's state is taken from {}: {}", folder.file(step), e.getMessage());
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

    private byte[] state(long step) throws IOException {
        Tensor saved = ResumableParts.requireOptimizer(Checkpoint.read(folder.file(step)));
        return (byte[]) saved.toArray();
    }
}
