package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.data.ElasticSampler;
import io.hvd.data.SplitMix64;
import io.hvd.optimizer.Optimizer;
import io.hvd.optimizer.ShardedOptimizer;
import io.hvd.optimizer.torch.StateDict;
import io.hvd.train.PaddingMask;
import io.hvd.train.checkpoint.Checkpoints;
import io.hvd.train.checkpoint.Manifest;
import io.hvd.train.checkpoint.TerminationVote;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Properties;

/**
 * A training with checkpoints in a folder: it begins with the newest one, trains on each sample of an epoch once whatever the number
 * of ranks, and ends after a checkpoint when a rank gets SIGTERM.
 */
final class TrainingSeries implements AutoCloseable {
    private final CheckpointFlags flags;
    private final long seed;
    private final HvdContext hvd;
    private final ElasticSampler sampler;
    private final Checkpoints checkpoints;
    private final TerminationVote vote;
    /** Null without a file for the samples. */
    private final BufferedWriter samples;

    private long step;
    private boolean terminated;
    /** The part of the epoch that was done before the batch under way. */
    private double done;

    private PaddingMask mask;
    private int[] indices;
    private int place;

    /** @param sharded null if every rank keeps the whole state */
    TrainingSeries(
            HvdContext hvd,
            TrainingOptions options,
            int images,
            ImageClassifier model,
            Optimizer optimizer,
            ShardedOptimizer sharded)
            throws IOException {
        this.flags = options.series();
        this.seed = options.seed();
        this.hvd = hvd;
        this.sampler = ElasticSampler.builder(images, hvd.size(), hvd.rank())
                .seed(seed)
                .build();
        this.checkpoints = Checkpoints.in(flags.folder().orElseThrow(), hvd, optimizer)
                .model(() -> StateDict.of(model), saved -> StateDict.load(model, saved))
                .with("sampler", sampler)
                .config("net", model.getClass().getSimpleName())
                .version("libtorch", libTorch())
                .keep(flags.keep())
                .after(() -> {
                    if (sharded != null) {
                        sharded.consolidate(0);
                    }
                })
                .build();
        this.vote = new TerminationVote(hvd);
        Optional<Path> file = flags.samples();
        this.samples = file.isEmpty() ? null : Files.newBufferedWriter(Path.of(file.get() + "-" + hvd.rank()));
    }

    private static String libTorch() throws IOException {
        Properties properties = new Properties();
        try (InputStream file = org.bytedeco.pytorch.Module.class.getResourceAsStream(
                "/META-INF/maven/org.bytedeco/pytorch/pom.properties")) {
            if (file != null) {
                properties.load(file);
            }
        }
        return properties.getProperty("version", "unknown");
    }

    ElasticSampler sampler() {
        return sampler;
    }

    /** Takes over the newest checkpoint, if there is one, and returns the epoch to go on with. */
    int resume() throws IOException {
        Optional<Manifest> manifest = checkpoints.resumeLatest();
        manifest.ifPresent(found -> {
            step = found.step();
            if (hvd.rank() == 0) {
                System.out.printf(
                        "going on after step %d, at sample %d of %d of epoch %d%n",
                        step, sampler.position(), sampler.datasetSize(), found.epoch() + 1);
            }
        });
        return manifest.map(Manifest::epoch).orElse(0);
    }

    /** The steps behind the training, over all epochs. */
    long step() {
        return step;
    }

    /** Called when the loader has begun the rest of an epoch. */
    void epochBegins() {
        done = sampler.done();
        mask = new PaddingMask(sampler);
        indices = sampler.indices();
        place = 0;
    }

    /** The progress of the training in epochs, which counts samples and so is the same in a run that resumes. */
    double progress(int epoch) {
        return epoch + done;
    }

    /** How many samples of the next batch count: the others are repetitions. */
    int counted(int batchSize, int epoch) throws IOException {
        int counted = mask.counted(batchSize);
        for (int i = 0; samples != null && i < counted; i++) {
            samples.write(epoch + " " + (step + 1) + " " + indices[place + i] + "\n");
        }
        place += batchSize;
        return counted;
    }

    /** A seed for the random numbers of the next step, which depends on nothing that a checkpoint would have to hold. */
    long seedOfStep() {
        return new SplitMix64(seed + 1 + step * 0x10001L + hvd.rank()).nextLong();
    }

    /** Ends a step, which may save; true if the training ends now, on all ranks. */
    boolean stepped(int epoch, boolean isLastOfEpoch) throws IOException {
        step++;
        done = sampler.done();
        if (samples != null) {
            samples.flush();
        }
        terminated = vote.afterStep();
        if (terminated) {
            checkpoints.saveAndWait(step, epoch);
            if (hvd.rank() == 0) {
                System.out.printf("SIGTERM: ending after step %d, whose checkpoint is written%n", step);
            }
        } else if (step % flags.every() == 0 && !isLastOfEpoch) {
            checkpoints.save(step, epoch);
        }
        return terminated;
    }

    /** Saves in the middle of an epoch, where the limit on steps ends the run. */
    void cutShort(int epoch) throws IOException {
        checkpoints.saveAndWait(step, epoch);
    }

    boolean isTerminated() {
        return terminated;
    }

    /** Saves after the evaluation. @param last whether this run ends with this epoch */
    void epochEnds(int epoch, boolean last) throws IOException {
        sampler.setEpoch(epoch + 1);
        if (last) {
            checkpoints.saveAndWait(step, epoch + 1);
        } else if (step % flags.every() == 0) {
            checkpoints.save(step, epoch + 1);
        }
    }

    @Override
    public void close() throws IOException {
        vote.close();
        checkpoints.close();
        if (samples != null) {
            samples.close();
        }
    }
}
