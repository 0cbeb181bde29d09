package io.hvd.benchmarks;

import java.io.IOException;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Launches again where other programs have had more than a tenth of the machine's processor time, and keeps the launch
 * in which they had least. The time of two launches cannot be compared if a neighbour was busy during one of them.
 */
final class QuietLaunch {
    static final double LIMIT_PERCENT = 10;

    /** Not a name that begins with HVD, because hvd refuses those that it does not know. */
    private static final String TRIES_VARIABLE = "BENCH_TRIES";

    private static final String USUAL_TRIES = "3";

    private final int tries;
    private final Consumer<String> told;

    /** @param told is told of each launch that is repeated */
    QuietLaunch(int tries, Consumer<String> told) {
        this.tries = tries;
        this.told = told;
    }

    /** With the number of tries that the environment asks for; 1 never repeats. */
    static QuietLaunch usual() throws IOException {
        return new QuietLaunch(tries(System.getenv()), System.err::println);
    }

    static int tries(Map<String, String> environment) throws IOException {
        String tries = environment.getOrDefault(TRIES_VARIABLE, USUAL_TRIES);
        if (!tries.matches("[1-9]\\d{0,3}")) {
            throw new IOException(TRIES_VARIABLE + " has \"" + tries + "\", expected a number from 1 to 9999");
        }
        return Integer.parseInt(tries);
    }

    /** One launch, whose samples say what others had of the processors. */
    interface Attempt {
        Samples launch() throws IOException, InterruptedException;
    }

    Samples of(Attempt attempt) throws IOException, InterruptedException {
        Samples quietest = attempt.launch();
        for (int done = 1; done < tries && quietest.othersPercent() > LIMIT_PERCENT; done++) {
            told.accept(String.format(
                    Locale.ROOT,
                    "         other programs had %.1f %% of the processors, more than %.0f %%: launch %d of at most %d",
                    quietest.othersPercent(),
                    LIMIT_PERCENT,
                    done + 1,
                    tries));
            Samples again = attempt.launch();
            quietest = again.othersPercent() < quietest.othersPercent() ? again : quietest;
        }
        return quietest;
    }
}
