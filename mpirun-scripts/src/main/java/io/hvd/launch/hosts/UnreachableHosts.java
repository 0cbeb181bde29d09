package io.hvd.launch.hosts;

import io.hvd.launch.words.ShellWords;
import io.hvd.launch.words.UsageException;
import java.util.Map;

/** The message about hosts that ssh does not reach. */
final class UnreachableHosts {

    /** The beginning of ssh's words about a name that leads to no address. */
    private static final String UNKNOWN_NAME = "Could not resolve hostname";

    private UnreachableHosts() {}

    /**
     * Makes the exception that ends the start.
     *
     * @param failed hosts, and ssh's words about each
     * @param asked the number of all hosts that were asked
     */
    static UsageException refusal(Map<String, String> failed, int asked, SshCalls calls) {
        var text = new StringBuilder("ssh reaches ")
                .append(asked - failed.size())
                .append(" of ")
                .append(asked)
                .append(" other hosts, nothing is started; it says of\n");
        failed.forEach((host, said) -> text.append("  ")
                .append(host)
                .append(": ")
                .append(said.isEmpty() ? "nothing" : said.replace("\n", "\n    "))
                .append('\n'));
        String first = failed.keySet().iterator().next();
        boolean unknown = failed.values().stream().allMatch(said -> said.contains(UNKNOWN_NAME));
        text.append(
                        unknown
                                ? "No such host is known here: give other names, or add these to DNS or /etc/hosts. Try: "
                                : "Each host must let this user in without a password. Try: ")
                .append(ShellWords.join(calls.words(first, "true")));
        return new UsageException("hosts-unreachable", text.toString());
    }
}
