package io.hvd.contract.explorer;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.hvd.contract.explorer.Exploration.Budget;
import io.hvd.contract.program.ProgramId;
import java.util.List;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * System properties of a person who runs the explorer: {@code hvd.explorer.seconds} for all everyday programs together,
 * {@code hvd.explorer.longSeconds} for all long ones, {@code hvd.explorer.program} to run one alone, and
 * {@code hvd.explorer.times} for how often.
 */
public final class ExplorerSettings {
    private static final long EVERYDAY_SECONDS = 15;
    private static final long LONG_SECONDS = 3_600;
    private static final long EVERYDAY_SHRINK_SECONDS = 20;
    private static final long LONG_SHRINK_SECONDS = 120;
    /** Long programs begin elsewhere than everyday ones. */
    private static final long LONG_BLOCK = 1_000_000;

    private ExplorerSettings() {}

    /** @param share of all the time, between 0 and 1 */
    public static Budget everyday(double share, int quickCount, int slowLanes, int slowCount) {
        long seconds = Long.getLong("hvd.explorer.seconds", EVERYDAY_SECONDS);
        return new Budget(Math.round(share * seconds), quickCount, slowLanes, slowCount, EVERYDAY_SHRINK_SECONDS, 0);
    }

    public static Budget forLong(double share, int slowLanes, int slowCount) {
        long seconds = Long.getLong("hvd.explorer.longSeconds", LONG_SECONDS);
        return new Budget(
                Math.round(share * seconds), ProgramId.BLOCK, slowLanes, slowCount, LONG_SHRINK_SECONDS, LONG_BLOCK);
    }

    /** Explores, or runs the one program that was asked for, if it is of one of these compositions. */
    public static void explore(
            List<Composition> compositions, Function<Composition, ? extends Team> team, Budget budget) {
        String asked = System.getProperty("hvd.explorer.program");
        if (asked == null) {
            Exploration.explore(compositions.stream().map(team).toList(), budget);
            return;
        }
        String[] words = asked.split("/");
        Composition composition = Composition.of(words[0]);
        Predicate<Composition> alike =
                one -> one.hosts() == composition.hosts() && (one.processes() == 0) == (composition.processes() == 0);
        assumeTrue(compositions.stream().anyMatch(alike), "another test runs " + asked);
        Exploration.again(
                team.apply(composition),
                ProgramId.of(words[1]),
                Integer.getInteger("hvd.explorer.times", 5),
                LONG_SHRINK_SECONDS);
    }
}
