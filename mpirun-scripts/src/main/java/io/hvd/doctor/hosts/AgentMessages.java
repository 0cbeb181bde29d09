package io.hvd.doctor.hosts;

import com.google.gson.Gson;
import com.google.gson.JsonSyntaxException;
import io.hvd.doctor.network.ListeningPort;
import io.hvd.doctor.network.MeasuredLink;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What travels between hvd-doctor here and on another host, over ssh's standard input and output: one line of JSON
 * per message, behind a mark that tells it from what login scripts print.
 */
public final class AgentMessages {

    private static final String MARK = "hvd-doctor: ";
    private static final Gson GSON = new Gson();

    private AgentMessages() {}

    /**
     * The first message: what the other host has to know.
     *
     * @param host what it is called in the host list
     * @param hosts the host list
     * @param settings variables that horovodrun would hand on
     * @param interfaces comma list asked for, or empty
     */
    public record Opening(
            String host, String secret, List<String> hosts, Map<String, String> settings, String interfaces) {}

    /** Every later one: measure the way to a host. */
    public record Errand(String host, List<ListeningPort> ports, int millis) {}

    /** The answer to that. */
    record Links(List<MeasuredLink> links) {}

    static void send(PrintStream out, Object message) {
        out.println(MARK + GSON.toJson(message));
        out.flush();
    }

    /** Empty for a line that is no message. */
    static <T> Optional<T> read(String line, Class<T> type) {
        if (!line.startsWith(MARK)) {
            return Optional.empty();
        }
        try {
            return Optional.ofNullable(GSON.fromJson(line.substring(MARK.length()), type));
        } catch (JsonSyntaxException e) {
            return Optional.empty();
        }
    }
}
