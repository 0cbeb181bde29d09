package io.hvd.launch.hosts;

import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The answer of a host, or of ssh in its place, to {@link #QUESTION}.
 *
 * @param interfaces names of the host's network interfaces; empty where ssh did not reach it, and {@code said} has the reason
 * @param hostname the host's own name, if it says one
 */
record HostAnswer(Optional<Set<String>> interfaces, Optional<String> hostname, String said) {

    private static final String SAYS_NAME = "hvd-host-name: ";

    /** Asks for the interfaces, and for the name that the host has for itself. */
    static final String QUESTION = "ls /sys/class/net; echo " + SAYS_NAME + "$(cat /proc/sys/kernel/hostname)";

    /** Words of ssh after which waiting is no use: the user is not let in, or the host is not the one it was. */
    private static final Pattern REFUSAL = Pattern.compile(
            "Permission denied|Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED"
                    + "|Too many authentication failures|Unable to negotiate|Bad configuration option"
                    + "|[Bb]ad owner or permissions|terminating, \\d+ bad configuration options",
            Pattern.CASE_INSENSITIVE);

    static HostAnswer none(String reason) {
        return new HostAnswer(Optional.empty(), Optional.empty(), reason);
    }

    /** @param exitCode of ssh, which is the question's unless it is {@link SshAccess#NOT_REACHED} */
    static HostAnswer of(int exitCode, String said) {
        Optional<Set<String>> interfaces = exitCode == SshAccess.NOT_REACHED
                ? Optional.empty()
                : Optional.of(exitCode == 0 ? interfaces(said) : Set.of());
        return new HostAnswer(interfaces, hostname(said), said);
    }

    /** Whether asking again is no use. */
    boolean isRefusal() {
        return interfaces.isEmpty() && REFUSAL.matcher(said).find();
    }

    private static Optional<String> hostname(String said) {
        return said.lines()
                .filter(line -> line.startsWith(SAYS_NAME))
                .map(line -> line.substring(SAYS_NAME.length()).strip())
                .filter(name -> !name.isEmpty())
                .reduce((earlier, last) -> last);
    }

    private static Set<String> interfaces(String said) {
        return said.lines()
                .filter(line -> line.matches("[^\\s/:]{1,15}"))
                .collect(Collectors.toCollection(TreeSet::new));
    }
}
