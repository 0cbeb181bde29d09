package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.data.ElasticSampler;
import io.hvd.data.EpochBatches;
import io.hvd.data.ShardRandom;
import io.hvd.optimizer.torch.StateDict;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchLoader;
import io.hvd.train.PaddingMask;
import io.hvd.train.checkpoint.Checkpoints;
import io.hvd.train.checkpoint.Manifest;
import io.hvd.train.checkpoint.TerminationSignal;
import io.hvd.train.checkpoint.TerminationVote;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.Properties;

/**
 * A training with checkpoints in a folder: it begins with the newest one, trains on each sample of an epoch once whatever the number
 * of ranks, and ends after a checkpoint when a rank gets SIGTERM.
 */
final class TrainingSeries implements TrainingCourse {
    /** More than there will be ranks: each draws the numbers of the first logical shard that it is dealt. */
    private static final int SHARDS = 1 << 16;

    private final CheckpointFlags flags;
    private final int epochs;
    private final ShardRandom random;
    private final HvdContext hvd;
    private final ImageClassifier model;
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

    TrainingSeries(
            RunStart start, TrainingOptions options, int images, ImageClassifier model, TrainingOptimizer optimizer)
            throws IOException {
        this.flags = options.series();
        this.epochs = options.epochs();
        this.hvd = start.hvd();
        this.model = model;
        this.sampler = ElasticSampler.builder(images, hvd.size(), hvd.rank())
                .seed(options.seed())
                .build();
        this.random = new ShardRandom(options.seed() + 1, SHARDS);
        this.checkpoints = Checkpoints.in(flags.folder().orElseThrow(), hvd, optimizer.outermost())
                .model(() -> StateDict.of(model), saved -> StateDict.load(model, saved))
                .with("sampler", sampler)
                .with("random", random)
                .config("net", model.getClass().getSimpleName())
                .version("libtorch", libTorch())
                .keep(flags.keep())
                .after(optimizer::consolidate)
                .build();
        this.vote = new TerminationVote(hvd, start.signal().orElseGet(TerminationSignal::listen));
        Optional<Path> file = flags.samples();
        this.samples = file.isEmpty() ? null : Files.newBufferedWriter(ofRank(file.get(), hvd.rank()));
    }

    /** The file of a rank for its samples. */
    static Path ofRank(Path file, int rank) {
        return Path.of(file + "-" + rank);
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

    @Override
    public ElasticSampler sampler() {
        return sampler;
    }

    @Override
    public int resume() throws IOException {
        Optional<Manifest> manifest = checkpoints.resumeLatest();
        manifest.ifPresent(found -> {
            step = found.step();
            if (hvd.rank() == 0) {
                System.out.printf(
                        Locale.ROOT,
                        "going on after step %d, at sample %d of %d of epoch %d%n",
                        step,
                        sampler.position(),
                        sampler.datasetSize(),
                        found.epoch() + 1);
            }
        });
        int epoch = manifest.map(Manifest::epoch).orElse(0);
        if (epoch < epochs) {
            checkpoints.requireWritable();
        }
        return epoch;
    }

    @Override
    public long stepsBefore(int firstEpoch, int batchesPerEpoch) {
        return step;
    }

    @Override
    public EpochBatches.Pass<TorchBatch> begin(TorchLoader<?> loader, int epoch) {
        EpochBatches.Pass<TorchBatch> rest = loader.iterator();
        done = sampler.done();
        mask = new PaddingMask(sampler);
        indices = sampler.indices();
        place = 0;
        return rest;
    }

    /** Counts samples, and so is the same in a run that resumes. */
    @Override
    public double progress(int epoch, double ofPass) {
        return epoch + done;
    }

    /** The others are repetitions. Each step has random numbers of its own. */
    @Override
    public int counted(int batchSize, int epoch) throws IOException {
        model.seedDropout(random.seedOf(step, random.shards(hvd.rank(), hvd.size())[0]));
        int counted = mask.counted(batchSize);
        for (int i = 0; samples != null && i < counted; i++) {
            samples.write(epoch + " " + (step + 1) + " " + indices[place + i] + "\n");
        }
        place += batchSize;
        return counted;
    }

    /** One batch is one step, which may save. */
    @Override
    public boolean stepped(int epoch, boolean isLastOfEpoch) throws IOException {
        step++;
        done = sampler.done();
        if (samples != null) {
            samples.flush();
        }
        if (vote.afterStep()) {
            terminate(epoch);
        } else if (step % flags.every() == 0 && !isLastOfEpoch) {
            checkpoints.save(step, epoch);
        }
        return terminated;
    }

    private void terminate(int epoch) throws IOException {
        terminated = true;
        checkpoints.saveAndWait(step, epoch);
        if (hvd.rank() == 0) {
            System.out.printf(Locale.ROOT, "SIGTERM: ending after step %d, whose checkpoint is written%n", step);
        }
    }

    @Override
    public void evaluationBegins(int epoch) throws IOException {
        vote.pauseBegins(checkpoints, step, epoch);
    }

    @Override
    public boolean evaluationEnds(int epoch) throws IOException {
        if (vote.pauseEnds()) {
            terminate(epoch);
        }
        return terminated;
    }

    @Override
    public void cutShort(int epoch) throws IOException {
        checkpoints.saveAndWait(step, epoch);
    }

    @Override
    public boolean isTerminated() {
        return terminated;
    }

    @Override
    public void epochEnds(int epoch, boolean last) throws IOException {
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
