package io.hvd.contract.explorer;

import io.hvd.contract.program.Program;
import io.hvd.contract.program.ProgramGenerator;
import io.hvd.contract.program.ProgramId;
import io.hvd.contract.program.ProgramId.Pace;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Plays programs until the time is up: the first half of it those of fixed seeds, the rest fresh ones. Slow programs do
 * little but sleep, so that several of them run side by side. What depends on time counts only if it is seen again when
 * the program runs alone.
 */
public final class Exploration {
    /** A program that may have suffered from a busy machine is run again so many times. */
    private static final int SECOND_LOOKS = 4;

    private static final int MOST_SHRUNK = 3;
    private static final int MOST_SHOWN = 4_000;

    private final List<? extends Team> teams;
    private final Budget budget;
    private final List<Seen> seen = Collections.synchronizedList(new ArrayList<>());

    /**
     * How long.
     *
     * @param seconds for programs of both paces together
     * @param quickCount quick programs that come one after the other in one go, at most {@link ProgramId#BLOCK}
     * @param slowLanes slow programs that run at a time, beside one quick one
     * @param slowCount slow programs that come one after the other in one go
     * @param shrinkSeconds for making each of the first failures smaller
     * @param firstBlock of the fixed seeds
     */
    public record Budget(
            long seconds, int quickCount, int slowLanes, int slowCount, long shrinkSeconds, long firstBlock) {}

    private record Seen(Team team, Outcome outcome) {
        String id() {
            return team.composition() + "/" + outcome.program().id();
        }
    }

    private Exploration(List<? extends Team> teams, Budget budget) {
        this.teams = teams;
        this.budget = budget;
    }

    /**
     * Prints how many programs each composition has played.
     *
     * @throws AssertionError with the programs that have failed, and how to run each of them alone
     */
    static void explore(List<? extends Team> teams, Budget budget) {
        Exploration exploration = new Exploration(teams, budget);
        exploration.run();
        exploration.conclude();
    }

    /** One program again, as often as asked for, and smaller if it fails. */
    static void again(Team team, ProgramId id, int times, long shrinkSeconds) {
        Exploration exploration = new Exploration(List.of(team), new Budget(0, 0, 0, 0, shrinkSeconds, 0));
        Program program = ProgramGenerator.write(id, team.composition().ranks());
        System.out.println(program.text());
        for (int i = 0; i < times; i++) {
            exploration.seen.add(new Seen(team, team.run(program)));
        }
        exploration.conclude();
    }

    private void run() {
        long begun = System.nanoTime();
        long fresh = Long.getLong("hvd.explorer.fresh", System.currentTimeMillis() / 1_000);
        System.out.printf(
                Locale.ROOT, "EXPLORER fresh seeds begin with block %d (-Dhvd.explorer.fresh=%d)%n", fresh, fresh);
        ExecutorService lanes = Executors.newFixedThreadPool(1 + budget.slowLanes());
        try {
            List<Future<?>> all = new ArrayList<>();
            AtomicInteger quick = new AtomicInteger();
            AtomicInteger slow = new AtomicInteger();
            all.add(lanes.submit(() -> lane(Pace.QUICK, quick, begun, fresh)));
            for (int i = 0; i < budget.slowLanes(); i++) {
                all.add(lanes.submit(() -> lane(Pace.SLOW, slow, begun, fresh)));
            }
            for (Future<?> lane : all) {
                lane.get();
            }
        } catch (ExecutionException e) {
            throw new AssertionError("a lane of the explorer has failed: " + e.getCause(), e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("the explorer was interrupted", e);
        } finally {
            lanes.shutdownNow();
        }
    }

    /**
     * Takes the next block of seeds for the next composition, again and again. The fresh block says which composition is the
     * first: in little time not all have their turn in every run, but all have it in some.
     */
    private void lane(Pace pace, AtomicInteger next, long begun, long fresh) {
        int freshFrom = Integer.MAX_VALUE;
        for (long left = budget.seconds();
                left > 0;
                left = budget.seconds() - (System.nanoTime() - begun) / 1_000_000_000) {
            int number = next.getAndIncrement();
            if (left <= budget.seconds() / 2) {
                freshFrom = Math.min(freshFrom, number);
            }
            Team team = teams.get((int) ((fresh + number) % teams.size()));
            long block = (number < freshFrom ? budget.firstBlock() : fresh) + number / teams.size();
            ProgramId first = ProgramId.of(pace, ProgramId.firstOfBlock(block));
            int count = pace == Pace.SLOW ? budget.slowCount() : budget.quickCount();
            team.runSome(first, count, left).forEach(outcome -> seen.add(new Seen(team, outcome)));
        }
    }

    private void conclude() {
        List<Seen> doubtful =
                seen.stream().filter(one -> one.outcome.isDoubtful()).toList();
        List<Seen> red = new ArrayList<>(seen);
        red.removeIf(one -> !one.outcome.isRed() || doubtful.contains(one));
        // Where it is sure that something is wrong, nobody need wait for more.
        doubtful.stream()
                .filter(one -> red.size() < MOST_SHRUNK && isSeenAgain(one))
                .forEach(red::add);
        print(red);
        if (!red.isEmpty()) {
            throw new AssertionError(words(red));
        }
    }

    private static boolean isSeenAgain(Seen one) {
        for (int look = 1; look <= SECOND_LOOKS; look++) {
            if (one.team.run(one.outcome.program()).isRed()) {
                return true;
            }
        }
        System.out.printf(
                Locale.ROOT,
                "EXPLORER not seen again in %d runs alone: %s %s%n",
                SECOND_LOOKS,
                one.id(),
                one.outcome.findings().get(0));
        return false;
    }

    private void print(List<Seen> red) {
        Map<String, List<Seen>> byTeam = new TreeMap<>();
        seen.forEach(one -> byTeam.computeIfAbsent(
                        one.team.composition() + " "
                                + one.outcome.program().id().pace(),
                        any -> new ArrayList<>())
                .add(one));
        byTeam.forEach((team, all) -> {
            double seconds =
                    all.stream().mapToDouble(one -> one.outcome.seconds()).sum();
            System.out.printf(
                    Locale.ROOT,
                    "EXPLORER composition=%s programs=%d operations=%d seconds=%.1f programs/s=%.2f longest_lag_ms=%d red=%d%n",
                    team.toLowerCase(Locale.ROOT).replace(" ", " pace="),
                    all.size(),
                    all.stream()
                            .mapToInt(one -> one.outcome.program().operations())
                            .sum(),
                    seconds,
                    all.size() / Math.max(0.001, seconds),
                    all.stream().mapToLong(one -> one.outcome.lagMillis()).max().orElse(0),
                    all.stream().filter(red::contains).count());
        });
    }

    private String words(List<Seen> red) {
        StringBuilder words = new StringBuilder(red.size() + " programs have failed:\n");
        red.forEach(one -> words.append(one.id())
                .append(" ")
                .append(shortened(one.outcome.findings().get(0).toString()))
                .append("\n"));
        words.append("Run one alone by -Dhvd.explorer.program=")
                .append(red.get(0).id())
                .append(", so many times by -Dhvd.explorer.times=N.\n");
        red.forEach(one -> write(one, one.outcome.program()));
        red.stream().limit(MOST_SHRUNK).forEach(one -> words.append(shrunk(one)));
        return words.toString();
    }

    private static String shortened(String finding) {
        return finding.length() > 600 ? finding.substring(0, 600) + " ..." : finding;
    }

    /** The smallest part of a program that still fails, with all findings of the whole program. */
    private String shrunk(Seen one) {
        Finding.Property property = one.outcome.findings().get(0).property();
        Program small = Shrinking.of(
                one.outcome.program(),
                candidate ->
                        one.team.run(candidate).findings().stream().anyMatch(finding -> finding.property() == property),
                budget.shrinkSeconds());
        String text = write(one, small);
        return text.length() > MOST_SHOWN ? text.substring(0, MOST_SHOWN) + " ...\n" : text;
    }

    /** In a file as well. */
    private static String write(Seen one, Program program) {
        StringBuilder text =
                new StringBuilder("-Dhvd.explorer.program=" + one.team.composition() + "/" + program.id() + "\n");
        text.append(program.text());
        one.outcome
                .findings()
                .forEach(finding -> text.append("  ").append(finding).append("\n"));
        Path file = Path.of("target", "explorer", one.id().replaceAll("[^a-z0-9-]", "_") + ".txt");
        try {
            Files.createDirectories(file.getParent());
            Files.writeString(file, text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return "in " + file.toAbsolutePath() + ":\n" + text;
    }
}
