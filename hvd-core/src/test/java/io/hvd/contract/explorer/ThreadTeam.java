package io.hvd.contract.explorer;

import io.hvd.InitOptions;
import io.hvd.LocalRanks;
import io.hvd.contract.explorer.Finding.Property;
import io.hvd.contract.program.JobSettings;
import io.hvd.contract.program.Program;
import io.hvd.contract.program.ProgramGenerator;
import io.hvd.contract.program.ProgramId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Runs programs with ranks as threads of this JVM. */
final class ThreadTeam implements Team {
    /** More than the longest limit of a barrier, which is no reason to end a program. */
    private static final long GRACE_MILLIS = 60_000;

    private final int ranks;

    ThreadTeam(int ranks) {
        this.ranks = ranks;
    }

    @Override
    public Composition composition() {
        return Composition.threads(ranks);
    }

    @Override
    public Outcome run(Program program) {
        return run(program, limitMillis(program));
    }

    @Override
    public List<Outcome> runSome(ProgramId first, int count, long seconds) {
        long end = System.nanoTime() + seconds * 1_000_000_000;
        List<Outcome> outcomes = new ArrayList<>();
        for (int i = 0; i < count && System.nanoTime() < end; i++) {
            outcomes.add(run(ProgramGenerator.write(ProgramId.of(first.pace(), first.seed() + i), ranks)));
        }
        return outcomes;
    }

    static Outcome run(Program program, long limitMillis) {
        long begun = System.nanoTime();
        List<RankLog> logs = Stream.generate(() -> new RankLog(program.ops().size()))
                .limit(program.ranks())
                .toList();
        CompletableFuture<Void> end = new CompletableFuture<>();
        Thread runner = new Thread(() -> complete(end, program, logs), "explorer-" + program.id());
        runner.setDaemon(true);
        runner.start();
        try (Starvation starvation = Starvation.watch()) {
            end.get(limitMillis, TimeUnit.MILLISECONDS);
            logs.get(0).starvation = starvation.samples();
            ResultChecker.Verdict verdict = ResultChecker.of(program, logs);
            return new Outcome(program, verdict.findings(), verdict.longestLagMillis(), seconds(begun));
        } catch (TimeoutException e) {
            String what =
                    "the program had not ended after " + limitMillis + " ms\n" + unfinished(program, logs) + stacks();
            Finding stuck = new Finding(Property.COMES_TO_ITS_END, true, what);
            return new Outcome(program, List.of(stuck), 0, seconds(begun));
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() instanceof CompletionException inner ? inner.getCause() : e.getCause();
            String what = "the job ended with " + cause + ", stack of its cause: " + stack(cause);
            boolean certain = !JobSettings.endsStallsEarly(program.settings());
            Finding ended = new Finding(Property.COMES_TO_ITS_END, certain, what);
            return new Outcome(program, List.of(ended), 0, seconds(begun));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while program " + program.id() + " ran", e);
        }
    }

    private static void complete(CompletableFuture<Void> end, Program program, List<RankLog> logs) {
        try {
            InitOptions options =
                    InitOptions.standard().withDynamicProcessSets().withProcessSets(program.startSets());
            LocalRanks.spawn(program.ranks(), options, program.settings(), hvd -> {
                ProgramRunner.play(program, hvd, logs.get(hvd.rank()));
                EarlyEnd.play(program, hvd).forEach(logs.get(hvd.rank())::find);
                return null;
            });
            end.complete(null);
        } catch (RuntimeException | Error e) {
            end.completeExceptionally(e);
        }
    }

    private static String unfinished(Program program, List<RankLog> logs) {
        return IntStream.range(0, logs.size())
                .mapToObj(rank -> "rank " + rank + " is in " + logs.get(rank).unfinished(program) + "\n")
                .collect(Collectors.joining());
    }

    /** Within it a program ends unless it never does. */
    static long limitMillis(Program program) {
        long computing =
                program.scripts().stream().mapToLong(Program::computing).sum();
        return computing + GRACE_MILLIS;
    }

    private static double seconds(long begun) {
        return (System.nanoTime() - begun) / 1e9;
    }

    private static String stack(Throwable thrown) {
        Throwable root = thrown;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root + " at "
                + List.of(root.getStackTrace()).stream()
                        .limit(12)
                        .map(StackTraceElement::toString)
                        .collect(Collectors.joining(" < "));
    }

    /** Holds for all threads of ranks, also for those of other programs that run meanwhile. */
    static String stacks() {
        return Thread.getAllStackTraces().entrySet().stream()
                .filter(entry -> entry.getKey().getName().matches("hvd-(rank|engine|comm).*|explorer-\\d+-.*"))
                .map(ThreadTeam::text)
                .collect(Collectors.joining("\n"));
    }

    private static String text(Map.Entry<Thread, StackTraceElement[]> entry) {
        return entry.getKey().getName() + ": "
                + List.of(entry.getValue()).stream()
                        .limit(14)
                        .map(StackTraceElement::toString)
                        .collect(Collectors.joining(" < "));
    }
}
