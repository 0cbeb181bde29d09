package io.hvd.benchmarks;

import io.hvd.benchmarks.cost.Algorithm;
import io.hvd.benchmarks.cost.Sample;
import io.hvd.benchmarks.rank.ModelRank;
import io.hvd.config.Setting;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Times allreduces of jobs that horovodrun starts, with every algorithm: MPI's own, hvd's through shared
 * memory, and hvd's own ring. Sizes to calibrate with and sizes to check with are timed in the same launches, so that both
 * are measured on the machine in the same state.
 */
final class AllreduceTimes {
    /** hvd's own ring between all ranks. */
    private static final MpiSetting OUR_RING = new MpiSetting("hvd-ring", List.of());

    private static final Map<String, String> RING_ENVIRONMENT =
            Map.of(Setting.ALLREDUCE_ALGORITHM.variable(), ModelRank.RING, Setting.SHARED_MEMORY.variable(), "0");

    private final MeasurementPlan plan;
    private final ModelPlan wanted;
    private final Benchmark.Progress progress;
    private double gammaSecondsPerByte = Double.MAX_VALUE;
    /** All times; null before they are first needed. */
    private List<Sample> samples;

    AllreduceTimes(MeasurementPlan plan, ModelPlan wanted, Benchmark.Progress progress) {
        this.plan = plan;
        this.wanted = wanted;
        this.progress = progress;
    }

    /** The seconds per byte that a sum took in the fastest launch. */
    double gammaSecondsPerByte() {
        return gammaSecondsPerByte;
    }

    /** The times to fit a model to. */
    List<Sample> ofCalibration() throws IOException, InterruptedException {
        return measured().stream()
                .filter(sample -> plan.sizes().contains(sample.bytes()) && isAmong(wanted.calibration(), sample))
                .toList();
    }

    /** The times to check a model with. */
    List<Sample> ofCheck() throws IOException, InterruptedException {
        return measured().stream()
                .filter(sample -> wanted.checkSizes().contains(sample.bytes()) && isAmong(wanted.check(), sample))
                .toList();
    }

    private static boolean isAmong(List<ModelJob> jobs, Sample sample) {
        return jobs.stream().anyMatch(job -> job.shape().equals(sample.shape()));
    }

    private List<Sample> measured() throws IOException, InterruptedException {
        if (samples == null) {
            samples = measure();
        }
        return samples;
    }

    private List<Sample> measure() throws IOException, InterruptedException {
        Set<ModelJob> jobs = new LinkedHashSet<>(wanted.calibration());
        jobs.addAll(wanted.check());
        List<Sample> all = new ArrayList<>();
        for (ModelJob job : jobs) {
            List<Long> sizes = sizes(job);
            Map<MpiSetting, Samples> runs = RankLaunch.inTurn(
                    "model, " + job,
                    Stream.of(MpiSetting.DEFAULT, OUR_RING)
                            .filter(setting -> plan.wants(setting.name()))
                            .toList(),
                    plan.repeat(),
                    progress,
                    setting -> launch(job, setting, sizes));
            if (runs.isEmpty()) {
                throw new IOException(job + " could not be measured; the reason stands above");
            }
            Samples usual = runs.getOrDefault(MpiSetting.DEFAULT, new Samples());
            Algorithm ours = job.shape().hosts() == 1 ? Algorithm.SHARED_MEMORY : Algorithm.TWO_LEVEL;
            all.addAll(samples(job, Algorithm.MPI, usual, "mpi", sizes));
            all.addAll(samples(job, ours, usual, "raw", sizes));
            Samples ring = runs.getOrDefault(OUR_RING, new Samples());
            all.addAll(samples(job, Algorithm.RING, ring, "raw", sizes));
        }
        return all;
    }

    private List<Long> sizes(ModelJob job) {
        return Stream.concat(
                        wanted.calibration().contains(job) ? plan.sizes().stream() : Stream.of(),
                        wanted.check().contains(job) ? wanted.checkSizes().stream() : Stream.of())
                .sorted()
                .toList();
    }

    private Samples launch(ModelJob job, MpiSetting setting, List<Long> sizes)
            throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(List.of(plan.launcher()));
        words.addAll(wanted.launcherWords());
        words.addAll(job.words());
        if (!setting.arguments().isEmpty()) {
            words.add("--mpi-args=" + String.join(" ", setting.arguments()));
        }
        Samples launched = RankLaunch.run(
                job.shape().ranks(),
                words,
                setting.equals(OUR_RING) ? RING_ENVIRONMENT : Map.of(),
                ModelRank.class,
                String.join(",", sizes.stream().map(String::valueOf).toList()),
                Integer.toString(plan.rounds()));
        launched.sizes("gamma")
                .forEach(bytes -> gammaSecondsPerByte = Math.min(
                        gammaSecondsPerByte, launched.spread("gamma", bytes).min() / 1e6 / bytes));
        return launched;
    }

    private List<Sample> samples(ModelJob job, Algorithm algorithm, Samples run, String series, List<Long> sizes) {
        return run.has(series)
                ? sizes.stream()
                        .map(bytes ->
                                new Sample(algorithm, job.shape(), bytes, micros(run.spread(series, bytes)) / 1e6))
                        .toList()
                : List.of();
    }

    private double micros(Spread spread) {
        return wanted.shortest() ? spread.min() : spread.median();
    }
}
