package io.hvd.launch.direct;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * What goes through ssh's standard input to start a rank on another host: a script and its orders, one in a line. Neither the
 * environment nor the command is on a command line here, and no shell evaluates them there.
 */
final class RemoteRank {

    private static final byte[] SCRIPT = script();

    /** The command for ssh, which whatever shell the user has there hands on to sh. */
    static final String SHELL =
            "exec sh -c 'exec sh -c \"$(dd bs=1 count=" + SCRIPT.length + " 2>/dev/null)\" hvd-rank'";

    /**
     * The script's line on standard output before those of the rank; the number of its process follows, and the named pipe
     * from which it reads if it does.
     */
    static final String STARTED = "hvd-rank-started ";

    private RemoteRank() {}

    /**
     * The script, and the orders that start the rank.
     *
     * @param reads whether it has an input, which {@link #input} writes to
     */
    static byte[] start(Map<String, String> environment, Path directory, List<String> command, boolean reads) {
        var text = new StringBuilder(new String(SCRIPT, StandardCharsets.UTF_8));
        environment.forEach((name, value) -> text.append(line("export " + name + "=" + value)));
        text.append(line("directory " + directory));
        text.append(reads ? line("input") : "");
        command.forEach(word -> text.append(line("word " + word)));
        return text.append(line("start")).toString().getBytes(StandardCharsets.UTF_8);
    }

    /** The command for an ssh of its own whose standard input becomes that of the rank, however long the rank leaves it unread. */
    static String input(String pipe) {
        return "exec cat >" + pipe;
    }

    /** The order to send a signal to the rank. */
    static byte[] signal(String name) {
        return line("signal " + name).getBytes(StandardCharsets.UTF_8);
    }

    /** One line, whatever is in the text. */
    private static String line(String text) {
        return text.replace("\\", "\\\\").replace("\n", "\\n") + "\n";
    }

    private static byte[] script() {
        try (InputStream in = RemoteRank.class.getResourceAsStream("remote-rank.sh")) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
