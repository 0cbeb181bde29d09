package io.hvd.top;

import com.google.gson.Gson;
import com.google.gson.JsonParseException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.zip.CRC32;

/**
 * The page that a rank has written about itself, in the format of {@code io.hvd.monitor.status.StatusPage}. Times are those of the host's
 * monotonic clock, which {@link System#nanoTime()} shows.
 *
 * @param job host and process of rank 0
 * @param local the ranks of the same host, such as 0-3,7
 * @param phase the long work that the rank has announced, or empty
 * @param pendingCalls number of calls that have not ended
 * @param pending the first of them, oldest first
 * @param last the last call that has ended; null if there is none
 */
record RankPage(
        String job,
        String program,
        int rank,
        int size,
        String host,
        String local,
        long nanos,
        long steps,
        long calls,
        double stepsPerSecond,
        double callsPerSecond,
        long heapUsed,
        long heapMost,
        String phase,
        int pendingCalls,
        List<Call> pending,
        Call last) {
    private static final Pattern HEAD = Pattern.compile("hvd-status 1 ([0-9a-f]{8}) (\\d{1,7})\n");
    private static final Pattern RUN = Pattern.compile("(\\d{1,9})(?:-(\\d{1,9}))?");
    private static final int MOST_RANKS = 1 << 16;
    private static final Pattern CONTROL = Pattern.compile("\\p{Cntrl}");
    private static final int NANOS_PER_MILLI = 1_000_000;

    RankPage {
        job = printable(job);
        program = printable(program);
        host = printable(host);
        local = printable(local);
        phase = printable(phase);
        pending = pending == null ? List.of() : List.copyOf(pending);
    }

    /**
     * A collective.
     *
     * @param members global ranks of its process set, such as 0-3,7; empty for all ranks
     * @param begun 1 if the data plane has begun, because all members have called it
     * @param submittedAgo milliseconds from the call to the page's time
     * @param endedAgo milliseconds from the end to the page's time; -1 if it has not ended
     */
    record Call(
            String kind,
            String name,
            int set,
            String members,
            String tensor,
            String site,
            int begun,
            long submittedAgo,
            long endedAgo) {
        Call {
            kind = printable(kind);
            name = printable(name);
            members = printable(members);
            tensor = printable(tensor);
            site = printable(site);
        }

        boolean isSameAs(Call other) {
            return other != null && set == other.set && kind.equals(other.kind) && name.equals(other.name);
        }

        String words() {
            return kind + " " + name + (set == 0 ? "" : " of process set " + set);
        }
    }

    /** Reads a page; empty if it is no page, or if it is being written at this moment. */
    static Optional<RankPage> parse(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.UTF_8);
        Matcher head = HEAD.matcher(text);
        if (!head.lookingAt()) {
            return Optional.empty();
        }
        int from = head.end();
        int to = from + Integer.parseInt(head.group(2));
        if (to > bytes.length) {
            return Optional.empty();
        }
        CRC32 sum = new CRC32();
        sum.update(bytes, from, to - from);
        return sum.getValue() == Long.parseLong(head.group(1), 16)
                ? content(new String(Arrays.copyOfRange(bytes, from, to), StandardCharsets.UTF_8))
                : Optional.empty();
    }

    private static Optional<RankPage> content(String json) {
        try {
            return Optional.ofNullable(new Gson().fromJson(json, RankPage.class));
        } catch (JsonParseException | NumberFormatException e) {
            return Optional.empty();
        }
    }

    /** The ranks that must make a call. */
    List<Integer> members(Call call) {
        return call.members().isEmpty() ? IntStream.range(0, size).boxed().toList() : ranks(call.members());
    }

    /** The ranks of the same host. */
    List<Integer> localRanks() {
        return ranks(local);
    }

    /** Leaves out what is no number: the rank cuts long texts. */
    private static List<Integer> ranks(String runs) {
        return Arrays.stream(runs.split(","))
                .map(RUN::matcher)
                .filter(Matcher::matches)
                .flatMapToInt(RankPage::run)
                .limit(MOST_RANKS)
                .boxed()
                .toList();
    }

    private static IntStream run(Matcher run) {
        int from = Integer.parseInt(run.group(1));
        return IntStream.rangeClosed(from, run.group(2) == null ? from : Integer.parseInt(run.group(2)));
    }

    long submittedNanos(Call call) {
        return nanos - call.submittedAgo() * NANOS_PER_MILLI;
    }

    long endedNanos(Call call) {
        return nanos - call.endedAgo() * NANOS_PER_MILLI;
    }

    /** A terminal obeys control characters. */
    private static String printable(String text) {
        return text == null ? "" : CONTROL.matcher(text).replaceAll("?");
    }
}
