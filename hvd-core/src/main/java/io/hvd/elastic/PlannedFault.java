package io.hvd.elastic;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A fault that is to happen to the process of one rank of an elastic job, for a test.
 *
 * @param kind what happens
 * @param rank that of the first generation, which is the number of its worker
 * @param moment what the number counts
 * @param number of the step after which it happens, or of the generation whose state it does not take over to the end
 * @param millis for how long the process stands still; 0 for other kinds
 */
public record PlannedFault(Kind kind, int rank, Moment moment, long number, long millis) {
    /** The variable that has the faults of a job. */
    public static final String VARIABLE = "HVD_FAULT_PLAN";

    private static final Pattern TEXT =
            Pattern.compile("(kill|stop|terminate) (\\d{1,9})(?: for (\\d{1,9}) ms)? (at step|in sync) (\\d{1,18})");

    /** What happens to a process. */
    public enum Kind {
        /** It is ended by SIGKILL. */
        KILL,
        /** It stands still between SIGSTOP and SIGCONT. */
        STOP,
        /** It gets SIGTERM. */
        TERMINATE;

        String text() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** What a moment is counted in. */
    public enum Moment {
        AT_STEP("at step"),
        IN_SYNC("in sync");

        private final String text;

        Moment(String text) {
            this.text = text;
        }
    }

    /**
     * Reads faults, separated by semicolons.
     *
     * @throws HvdException for any other text
     */
    public static List<PlannedFault> parse(String text) {
        return Arrays.stream(text.split(";"))
                .map(String::strip)
                .filter(one -> !one.isEmpty())
                .map(PlannedFault::one)
                .toList();
    }

    private static PlannedFault one(String text) {
        Matcher parts = TEXT.matcher(text);
        boolean fits = parts.matches() && parts.group(1).equals("stop") == (parts.group(3) != null);
        if (!fits) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    VARIABLE + ": \"" + text + "\", expected \"kill 1 at step 40\", \"terminate 1"
                            + " in sync 2\" or \"stop 1 for 500 ms at step 40\", and \";\" between several");
        }
        return new PlannedFault(
                Kind.valueOf(parts.group(1).toUpperCase(Locale.ROOT)),
                Integer.parseInt(parts.group(2)),
                parts.group(4).equals(Moment.AT_STEP.text) ? Moment.AT_STEP : Moment.IN_SYNC,
                Long.parseLong(parts.group(5)),
                parts.group(3) == null ? 0 : Long.parseLong(parts.group(3)));
    }

    /** The form that {@link #parse} reads. */
    public String text() {
        return kind.text() + " " + rank + (kind == Kind.STOP ? " for " + millis + " ms" : "") + " " + moment.text + " "
                + number;
    }

    /** Whether it happens now, after so many steps. */
    public boolean isDueAt(long step) {
        return moment == Moment.AT_STEP && step >= number;
    }

    /** Whether it happens now, while the ranks of this generation take over the state. */
    public boolean isDueInSync(int generation) {
        return moment == Moment.IN_SYNC && generation == number;
    }

    /** Lets it happen to this process. A process that stands still goes on here. */
    public void happen() {
        long pid = ProcessHandle.current().pid();
        String command =
                switch (kind) {
                    case KILL -> "kill -KILL " + pid;
                    case TERMINATE -> "kill -TERM " + pid;
                    case STOP -> "kill -STOP " + pid + "; sleep " + millis / 1000.0 + "; kill -CONT " + pid;
                };
        try {
            new ProcessBuilder("sh", "-c", command)
                    .redirectInput(new File("/dev/null"))
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start()
                    .waitFor();
            if (kind == Kind.KILL) {
                TimeUnit.SECONDS.sleep(1); // the signal is on its way
            }
        } catch (IOException e) {
            throw new HvdException(ErrorId.UNSUPPORTED, "\"" + text() + "\" needs sh and kill on this host: " + e, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
