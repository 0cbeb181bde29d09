package io.hvd.benchmarks;

import io.hvd.benchmarks.kernels.CopyKernels;
import io.hvd.benchmarks.kernels.ReduceKernels;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** hvd's inner loops under JMH: pack, unpack, conversions, sums; each beside what plain Java does with as many bytes. */
final class KernelsBench implements Benchmark {
    private static final String OPPONENT = "opponent";
    /** Floats are what plain Java is given, whatever the type beside it. */
    private static final String OPPONENTS_TYPE = "FLOAT32";

    @Override
    public String name() {
        return "kernels";
    }

    @Override
    public String summary() {
        return "Pack, unpack, conversions and sums under JMH, on one thread. --rounds is the number of iterations,"
                + " --repeat that of JVMs, --only takes pack, unpack, sum; --ranks is without effect.";
    }

    @Override
    public Plan usual() {
        return new Plan(List.of(1), List.of(64L << 10, 16L << 20), 5, 3);
    }

    @Override
    public Plan quick() {
        return new Plan(List.of(1), List.of(64L << 10), 3, 1);
    }

    @Override
    public List<Result> run(Plan plan, Progress progress) throws IOException, InterruptedException {
        List<Result> results = new ArrayList<>();
        String jdk = "jdk-" + Runtime.version().feature();
        results.addAll(run(CopyKernels.class, jdk + "[FloatBuffer.put]", plan, progress));
        results.addAll(run(ReduceKernels.class, jdk + "[float[]-loop]", plan, progress));
        return results;
    }

    private static List<Result> run(Class<?> kernels, String opponent, Plan plan, Progress progress)
            throws IOException {
        progress.say("JMH: " + kernels.getSimpleName());
        Map<Boolean, List<RunResult>> bySide = jmh(kernels, plan).stream()
                .collect(Collectors.partitioningBy(run -> name(run).equals(OPPONENT)));
        Map<String, RunResult> theirs = bySide.get(true).stream()
                .filter(run -> run.getParams().getParam("wire").equals(OPPONENTS_TYPE))
                .collect(Collectors.toMap(KernelsBench::bytes, Function.identity()));
        return bySide.get(false).stream()
                .filter(run -> plan.wants(name(run)))
                .map(run -> result(run, opponent, theirs.get(bytes(run))))
                .toList();
    }

    private static Collection<RunResult> jmh(Class<?> kernels, Plan plan) throws IOException {
        boolean brief = plan.repeat() == 1;
        String[] sizes = plan.sizes().stream().map(String::valueOf).toArray(String[]::new);
        try {
            return new Runner(new OptionsBuilder()
                            .include(kernels.getName() + ".*")
                            .param("bytes", sizes)
                            .forks(plan.repeat())
                            .warmupIterations(brief ? 2 : 3)
                            .measurementIterations(plan.rounds())
                            .warmupTime(TimeValue.milliseconds(brief ? 100 : 500))
                            .measurementTime(TimeValue.milliseconds(brief ? 100 : 500))
                            .verbosity(VerboseMode.SILENT)
                            .shouldFailOnError(true)
                            .build())
                    .run();
        } catch (RunnerException e) {
            throw new IOException("JMH gave up: " + e.getMessage(), e);
        }
    }

    private static Result result(RunResult ours, String opponent, RunResult theirs) {
        String wire = ours.getParams().getParam("wire").toLowerCase(Locale.ROOT);
        long bytes = Long.parseLong(bytes(ours));
        Spread mine = spread(ours);
        return new Result("kernel-" + name(ours) + "-" + wire, 1, bytes, mine, opponent, spread(theirs))
                .with("gbs", bytes / mine.median() / 1e3);
    }

    /** One timing per iteration, of all JVMs. */
    private static Spread spread(RunResult run) {
        return Spread.of(run.getAggregatedResult().getIterationResults().stream()
                .map(iteration -> iteration.getPrimaryResult().getScore())
                .toList());
    }

    private static String bytes(RunResult run) {
        return run.getParams().getParam("bytes");
    }

    private static String name(RunResult run) {
        return Arrays.stream(run.getParams().getBenchmark().split("\\."))
                .reduce((before, last) -> last)
                .orElseThrow();
    }
}
