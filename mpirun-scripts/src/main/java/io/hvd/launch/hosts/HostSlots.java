package io.hvd.launch.hosts;

import io.hvd.file.TextFile;
import io.hvd.launch.words.UsageException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * One host of a job and the number of ranks that it may hold.
 *
 * @param host an IPv6 address without brackets
 * @param slots {@link #UNKNOWN} where nobody has said
 */
public record HostSlots(String host, int slots) {

    /** The slots of a host of which nothing is said. */
    static final int UNKNOWN = 0;

    /** A name that ssh does not take for a flag, nor a shell for more than a name; or an IPv6 address in brackets. */
    private static final String NAME = "(?:(\\w[\\w.@-]*)|\\[([0-9a-fA-F:.]*:[0-9a-fA-F:.]*(?:%\\w[\\w.-]*)?)])";

    private static final Pattern TOKEN = Pattern.compile(NAME + ":(\\d{1,7})");
    private static final Pattern LINE =
            Pattern.compile(NAME + "\\s+slots\\s*=\\s*(\\d{1,7})(\\s+max[_-]slots\\s*=\\s*\\d+)?");

    /** Reads the value of {@code -H}, for example {@code a:2,b:4}; a host named twice has the sum. */
    public static List<HostSlots> parse(String hosts) {
        List<HostSlots> found = new ArrayList<>();
        for (String token : hosts.split(",", -1)) {
            found.add(
                    match(TOKEN, TextFile.clean(token))
                            .orElseThrow(
                                    () -> new UsageException(
                                            "host-format",
                                            "-H " + hosts + ": \"" + TextFile.shown(token.strip())
                                                    + "\" is not of the form host:slots with at least one slot, as in node1:4 or [fd00::1]:4")));
        }
        return merge(found);
    }

    /** Reads a file with one {@code host slots=N} per line; blank lines and {@code #} comments are allowed. */
    public static List<HostSlots> readFile(Path file) {
        List<HostSlots> found = new ArrayList<>();
        List<String> lines = lines(file);
        for (int i = 0; i < lines.size(); i++) {
            String line = TextFile.clean(lines.get(i).replaceFirst("#.*", ""));
            int number = i + 1;
            if (!line.isEmpty()) {
                found.add(match(LINE, line)
                        .orElseThrow(() -> new UsageException(
                                "hostfile-format",
                                file + " line " + number + ": \"" + TextFile.shown(line)
                                        + "\" is not of the form: host slots=N with at least one slot")));
            }
        }
        if (found.isEmpty()) {
            throw new UsageException("hostfile-empty", file + " names no host; expected lines: host slots=N");
        }
        return merge(found);
    }

    /** The form that {@code -H} takes. */
    public static String join(List<HostSlots> hosts) {
        return hosts.stream()
                .map(h -> (h.host.contains(":") ? "[" + h.host + "]" : h.host) + ":" + h.slots)
                .collect(Collectors.joining(","));
    }

    /** The sum of all slots, at most {@link Integer#MAX_VALUE}. */
    public static int total(List<HostSlots> hosts) {
        return hosts.stream().mapToInt(HostSlots::slots).reduce(0, HostSlots::sum);
    }

    /** The fewest hosts on which this many ranks can be, unless hosts are crowded. */
    public static int fewest(List<HostSlots> hosts, int ranks) {
        if (hosts.stream().anyMatch(host -> host.slots() == UNKNOWN)) {
            return 1;
        }
        int left = ranks;
        int count = 0;
        for (HostSlots host : hosts.stream()
                .sorted((one, other) -> Integer.compare(other.slots(), one.slots()))
                .toList()) {
            if (left > 0) {
                count++;
                left -= host.slots();
            }
        }
        return Math.max(1, count);
    }

    private static int sum(int some, int more) {
        return (int) Math.min(Integer.MAX_VALUE, (long) some + more);
    }

    private static List<String> lines(Path file) {
        try {
            return TextFile.lines(file);
        } catch (IOException e) {
            throw new UsageException("hostfile-unreadable", "hostfile " + file + " cannot be read: " + e);
        }
    }

    private static Optional<HostSlots> match(Pattern form, String text) {
        Matcher matcher = form.matcher(text);
        if (!matcher.matches() || Integer.parseInt(matcher.group(3)) < 1) {
            return Optional.empty();
        }
        String host = matcher.group(1) == null ? matcher.group(2) : matcher.group(1);
        return Optional.of(new HostSlots(host, Integer.parseInt(matcher.group(3))));
    }

    private static List<HostSlots> merge(List<HostSlots> hosts) {
        Map<String, Integer> slots = new LinkedHashMap<>();
        hosts.forEach(h -> slots.merge(h.host, h.slots, HostSlots::sum));
        return slots.entrySet().stream()
                .map(e -> new HostSlots(e.getKey(), e.getValue()))
                .toList();
    }
}
