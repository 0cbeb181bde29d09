package io.hvd.launch.failure;

import io.hvd.error.FailureRecord;
import io.hvd.launch.words.HydraRank;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads along what the {@linkplain HydraRank shells} beside the ranks say under Hydra, to know which rank failed first. Any
 * thread may call it.
 */
public final class HydraWords {

    /** A number stands before it where Hydra puts the rank before each line. */
    private static final Pattern ENDED = Pattern.compile(
            "^(?:\\[\\d+\\] )?" + HydraRank.SAYS + "(\\d{1,9}) on (\\S+) has ended with code (\\d{1,3})$");

    private Optional<ObservedFailure> first = Optional.empty();
    private long seenNanos;

    /** Takes one line. */
    public synchronized void accept(String line) {
        Matcher ended = ENDED.matcher(line);
        if (first.isEmpty() && ended.matches()) {
            int code = Integer.parseInt(ended.group(3));
            first = Optional.of(new ObservedFailure(Integer.parseInt(ended.group(1)), ended.group(2), code, ""));
            seenNanos = System.nanoTime();
        }
    }

    /** Whether a rank has failed so long ago. */
    public synchronized boolean hasFailedFor(long nanos) {
        return first.isPresent() && System.nanoTime() - seenNanos > nanos;
    }

    /** The first failure in words. @param started of the ranks that have told whose their processes are */
    public synchronized Optional<ObservedFailure> firstFailure(List<FailureRecord> started) {
        return first.map(seen -> {
            String pid = started.stream()
                    .filter(record -> record.rank() == seen.rank())
                    .map(record -> ", pid " + record.pid())
                    .findFirst()
                    .orElse("");
            String end = seen.bySignal()
                    ? "was ended by signal " + (seen.exitCode() - ObservedFailure.SIGNAL_BASE)
                    : "ended with exit code " + seen.exitCode();
            String words = "rank " + seen.rank() + " on " + seen.host() + pid + ", " + end;
            return new ObservedFailure(seen.rank(), seen.host(), seen.exitCode(), words);
        });
    }
}
