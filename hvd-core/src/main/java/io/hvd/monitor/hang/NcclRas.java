package io.hvd.monitor.hang;

import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The RAS subsystem of NCCL 2.24 and newer: threads of all processes that use NCCL watch each other, and one of each
 * host answers questions on a TCP port. The questions and answers are lines of text.
 *
 * @param host empty if it is not to be asked
 * @param maps the file that lists what this process has loaded; without NCCL, whoever answers belongs to another job
 */
public record NcclRas(String host, int port, Path maps) {
    private static final String ADDRESS = "NCCL_RAS_ADDR";
    private static final String ENABLE = "NCCL_RAS_ENABLE";
    private static final String STANDARD = "localhost:28028";
    private static final Path MAPS = Path.of("/proc/self/maps");
    private static final String PROTOCOL = "2";
    /** Seconds for which RAS itself waits for its other processes; less than the limit, so that its answer arrives. */
    private static final int PATIENCE_SECONDS = 2;

    private static final int MOST_CHARACTERS = 1 << 16;
    private static final int LONGEST_LINE = 300;

    public static final NcclRas OFF = new NcclRas("", 0, MAPS);

    /** @param environment the variables that NCCL itself goes by */
    public static NcclRas of(boolean asked, Map<String, String> environment) {
        String address = environment.getOrDefault(ADDRESS, STANDARD);
        int colon = address.lastIndexOf(':');
        if (!asked || environment.getOrDefault(ENABLE, "1").equals("0") || colon < 1) {
            return OFF;
        }
        try {
            String host = address.substring(0, colon).replaceAll("[\\[\\]]", "");
            return new NcclRas(host, Integer.parseInt(address.substring(colon + 1)), MAPS);
        } catch (NumberFormatException e) {
            return OFF; // NCCL has refused it too
        }
    }

    /**
     * Asks for the state of the job.
     *
     * @param limit the longest time that the caller waits, whatever happens; what has arrived by then is returned
     */
    public RasAnswer ask(Duration limit) {
        if (host.isEmpty() || !isNcclLoaded()) {
            return RasAnswer.NONE;
        }
        Conversation conversation = new Conversation(limit);
        Thread thread = new Thread(conversation, "hvd-nccl-ras");
        thread.setDaemon(true);
        thread.start();
        try {
            thread.join(limit.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return conversation.end();
    }

    private boolean isNcclLoaded() {
        try (Stream<String> lines = Files.lines(maps)) {
            return lines.anyMatch(line -> line.contains("/libnccl.so"));
        } catch (IOException | RuntimeException e) {
            return false;
        }
    }

    /** One connection, on a thread of its own, since even the look-up of a name may take longer than the limit. */
    private final class Conversation implements Runnable {
        private final int limitMillis;
        /** The following fields are used under this object's lock. */
        private final List<String> lines = new ArrayList<>();

        private boolean whole;
        private boolean ended;
        private Socket socket;
        /** Only the conversation's thread uses it. */
        private int characters;

        Conversation(Duration limit) {
            this.limitMillis = Math.toIntExact(limit.toMillis());
        }

        @Override
        public void run() {
            try {
                for (InetAddress address : InetAddress.getAllByName(host)) {
                    if (asked(address)) {
                        return;
                    }
                }
            } catch (IOException | RuntimeException e) {
                // Nothing answers, or it has stopped; the report of the hang goes out without it.
                return;
            }
        }

        /**
         * Asks at one of the host's addresses. NCCL listens at the first that the system gives for a name such as
         * localhost, which may be the one of IPv6.
         *
         * @return false if nobody listens there
         */
        private boolean asked(InetAddress address) throws IOException {
            try (Socket connected = new Socket()) {
                if (!begins(connected)) {
                    return true;
                }
                try {
                    connected.connect(new InetSocketAddress(address, port), limitMillis);
                } catch (ConnectException e) {
                    return false;
                }
                connected.setSoTimeout(limitMillis);
                talk(connected);
                return true;
            }
        }

        private synchronized boolean begins(Socket connecting) {
            socket = connecting;
            return !ended;
        }

        private void talk(Socket connected) throws IOException {
            InputStream in = connected.getInputStream();
            say(connected, "CLIENT PROTOCOL " + PROTOCOL);
            String server = line(in);
            if (server == null || !server.startsWith("SERVER PROTOCOL")) {
                return; // somebody else's port
            }
            say(connected, "TIMEOUT " + PATIENCE_SECONDS);
            if (line(in) == null) {
                return;
            }
            say(connected, "VERBOSE STATUS");
            for (String line = line(in); line != null; line = line(in)) {
                keep(line);
            }
            keepEnd();
        }

        private static void say(Socket to, String line) throws IOException {
            to.getOutputStream().write((line + "\n").getBytes(StandardCharsets.US_ASCII));
        }

        /** The next line without its end, cut where it is too long; null at the end of the stream or at the limit. */
        private String line(InputStream in) throws IOException {
            StringBuilder line = new StringBuilder();
            for (int next = in.read(); next != '\n'; next = in.read()) {
                if (next < 0 || ++characters > MOST_CHARACTERS) {
                    return line.isEmpty() ? null : line.toString();
                }
                if (line.length() < LONGEST_LINE) {
                    line.append(next < ' ' || next > '~' ? ' ' : (char) next);
                }
            }
            return line.toString();
        }

        private synchronized void keep(String line) {
            if (!line.isBlank() && !line.strip().matches("=+")) {
                lines.add(line.stripTrailing());
            }
        }

        private synchronized void keepEnd() {
            whole = characters <= MOST_CHARACTERS;
        }

        /** The answer so far. The thread ends if it has not yet. */
        synchronized RasAnswer end() {
            ended = true;
            try {
                if (socket != null) {
                    socket.close();
                }
            } catch (IOException e) {
                return RasAnswer.NONE;
            }
            return new RasAnswer(host + ":" + port, lines, whole);
        }
    }
}
