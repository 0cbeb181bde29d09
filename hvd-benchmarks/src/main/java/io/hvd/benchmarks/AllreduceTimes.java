package io.hvd.benchmarks;

import io.hvd.benchmarks.rank.ModelRank;
import io.hvd.cost.Algorithm;
import io.hvd.cost.Sample;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Times allreduces of jobs that horovodrun starts, by all the ways that there are: MPI's own, hvd's through shared
 * memory, and the ring, for which Open MPI's segmented one stands.
 */
final class AllreduceTimes {
    private final Plan plan;
    private final List<String> launcherWords;
    private final Benchmark.Progress progress;
    private double gammaSecondsPerByte = Double.MAX_VALUE;

    AllreduceTimes(Plan plan, List<String> launcherWords, Benchmark.Progress progress) {
        this.plan = plan;
        this.launcherWords = launcherWords;
        this.progress = progress;
    }

    /** Of the quickest launch. */
    double gammaSecondsPerByte() {
        return gammaSecondsPerByte;
    }

    List<Sample> measure(List<ModelJob> jobs, List<Long> sizes) throws IOException, InterruptedException {
        List<Sample> all = new ArrayList<>();
        for (ModelJob job : jobs) {
            Map<MpiSetting, Samples> runs = Launch.inTurn(
                    "model, " + job,
                    List.of(MpiSetting.DEFAULT, MpiSetting.SEGMENTED_RING),
                    plan.repeat(),
                    progress,
                    setting -> launch(job, setting, sizes));
            Samples usual = runs.get(MpiSetting.DEFAULT);
            if (usual == null) {
                throw new IOException(job + " could not be measured; the reason stands above");
            }
            Algorithm ours = job.shape().hosts() == 1 ? Algorithm.SHARED_MEMORY : Algorithm.TWO_LEVEL;
            all.addAll(samples(job, Algorithm.MPI, usual, "mpi", sizes));
            all.addAll(samples(job, ours, usual, "raw", sizes));
            Samples ring = runs.getOrDefault(MpiSetting.SEGMENTED_RING, new Samples());
            all.addAll(samples(job, Algorithm.RING, ring, "mpi", sizes));
        }
        return all;
    }

    private Samples launch(ModelJob job, MpiSetting setting, List<Long> sizes)
            throws IOException, InterruptedException {
        List<String> words = new ArrayList<>(List.of(plan.launcher()));
        words.addAll(launcherWords);
        words.addAll(job.words());
        if (!setting.arguments().isEmpty()) {
            words.add("--mpi-args=" + String.join(" ", setting.arguments()));
        }
        Samples samples = Launch.run(
                job.shape().ranks(),
                words,
                Map.of(),
                ModelRank.class,
                String.join(",", sizes.stream().map(String::valueOf).toList()),
                Integer.toString(plan.rounds()));
        samples.sizes("gamma")
                .forEach(bytes -> gammaSecondsPerByte = Math.min(
                        gammaSecondsPerByte, samples.spread("gamma", bytes).min() / 1e6 / bytes));
        return samples;
    }

    private static List<Sample> samples(
            ModelJob job, Algorithm algorithm, Samples run, String series, List<Long> sizes) {
        return run.has(series)
                ? sizes.stream()
                        .map(bytes -> new Sample(
                                algorithm,
                                job.shape(),
                                bytes,
                                run.spread(series, bytes).median() / 1e6))
                        .toList()
                : List.of();
    }
}
