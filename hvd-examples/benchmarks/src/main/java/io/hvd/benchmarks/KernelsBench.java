package io.hvd.benchmarks;

import io.hvd.benchmarks.kernels.CopyKernels;
import io.hvd.benchmarks.kernels.PlainKernels;
import io.hvd.benchmarks.kernels.ReduceKernels;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Times hvd's inner loops under JMH: pack, unpack, conversions, sums; each against plain Java with as many bytes. */
final class KernelsBench implements Benchmark {
    /** JMH's annotation has the name of our interface. */
    private static final Class<org.openjdk.jmh.annotations.Benchmark> TIMED =
            org.openjdk.jmh.annotations.Benchmark.class;

    @Override
    public String name() {
        return "kernels";
    }

    @Override
    public String summary() {
        return "Times pack, unpack, conversions and sums under JMH, on one thread. --rounds is the number of iterations,"
                + " --repeat the number of JVMs, --only takes pack, unpack or sum; --ranks has no effect.";
    }

    @Override
    public MeasurementPlan usual() {
        return new MeasurementPlan(List.of(1), List.of(64L << 10, 16L << 20), 5, 3);
    }

    @Override
    public MeasurementPlan quick() {
        return new MeasurementPlan(List.of(1), List.of(64L << 10), 3, 1);
    }

    @Override
    public void run(MeasurementPlan plan, Progress progress, Consumer<Result> results)
            throws IOException, InterruptedException {
        progress.say("JMH: plain Java");
        Map<String, RunResult> plain = jmh(PlainKernels.class, "", plan).stream()
                .collect(Collectors.toMap(run -> name(run) + bytes(run), Function.identity()));
        String jdk = "jdk-" + Runtime.version().feature();
        for (RunResult run : kernels(CopyKernels.class, plan, progress)) {
            results.accept(result(run, jdk + "[FloatBuffer.put]", plain.get("copy" + bytes(run))));
        }
        for (RunResult run : kernels(ReduceKernels.class, plan, progress)) {
            results.accept(result(run, jdk + "[float[]-loop]", plain.get("add" + bytes(run))));
        }
    }

    private static Collection<RunResult> kernels(Class<?> kernels, MeasurementPlan plan, Progress progress)
            throws IOException {
        boolean wanted = Arrays.stream(kernels.getDeclaredMethods())
                .anyMatch(method -> plan.wants(method.getName()) && method.isAnnotationPresent(TIMED));
        progress.say("JMH: " + kernels.getSimpleName() + (wanted ? "" : ", left out by --only"));
        return wanted ? jmh(kernels, plan.only(), plan) : List.of();
    }

    private static Collection<RunResult> jmh(Class<?> kernels, String only, MeasurementPlan plan) throws IOException {
        boolean brief = plan.repeat() == 1;
        String[] sizes = plan.sizes().stream().map(String::valueOf).toArray(String[]::new);
        try {
            return new Runner(new OptionsBuilder()
                            .include(kernels.getName() + "\\.\\w*" + only + "\\w*$")
                            .param("bytes", sizes)
                            .forks(plan.repeat())
                            .warmupIterations(3)
                            .measurementIterations(plan.rounds())
                            .warmupTime(TimeValue.milliseconds(brief ? 150 : 500))
                            .measurementTime(TimeValue.milliseconds(brief ? 100 : 500))
                            .verbosity(VerboseMode.SILENT)
                            .shouldFailOnError(true)
                            .build())
                    .run();
        } catch (RunnerException e) {
            throw new IOException("JMH has failed: " + e.getMessage(), e);
        }
    }

    private static Result result(RunResult ours, String opponent, RunResult theirs) {
        String wire = ours.getParams().getParam("wire").toLowerCase(Locale.ROOT);
        long bytes = Long.parseLong(bytes(ours));
        Spread mine = spread(ours);
        return new Result("kernel-" + name(ours) + "-" + wire, 1, bytes, mine, opponent, spread(theirs))
                .with("gbs", bytes / mine.median() / 1e3);
    }

    /** The spread of the timings of all JVMs, one for each iteration. */
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
