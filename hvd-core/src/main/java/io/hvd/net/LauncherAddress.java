package io.hvd.net;

import io.hvd.error.FailureRecord;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Where a rank that does not see the launcher's folder hands in what belongs there. After the hello it sends an
 * {@link Upload} and then the content, in pieces; the answer is one message when the content is stored.
 *
 * @param token in hexadecimal: what tells this job's ranks from strangers
 * @param sockets of the launcher's host; which of them leads there differs by host
 */
public record LauncherAddress(String token, List<InetSocketAddress> sockets) {

    /** Environment variable by which the launcher tells its ranks; unset where all of them see its folder. */
    public static final String VARIABLE = "HVD_LAUNCHER_ADDRESS";

    /** The name under which a {@link FailureRecord} is handed in. */
    public static final String FAILURE = "failure";

    /** A rank that fails has about a second; one that hands in a result has time. */
    private static final int FAILING_MILLIS = 400;

    private static final int RESULT_MILLIS = 30_000;

    /** The number in the hello: all ranks are served alike. */
    private static final int ANY_RANK = 0;

    public LauncherAddress {
        sockets = List.copyOf(sockets);
    }

    /**
     * Reads what {@link #encode} has written.
     *
     * @throws IllegalArgumentException if the text is nothing of the kind
     */
    public static LauncherAddress decode(String text) {
        String[] parts = text.split("@", 2);
        if (parts.length < 2 || !parts[0].matches("([0-9a-f]{2})+")) {
            throw new IllegalArgumentException(VARIABLE + " is no token@address/port,address/port");
        }
        return new LauncherAddress(
                parts[0],
                Stream.of(parts[1].split(",")).map(LauncherAddress::socket).toList());
    }

    /** The value of {@link #VARIABLE}. */
    public String encode() {
        return token + "@"
                + sockets.stream()
                        .map(socket -> socket.getAddress().getHostAddress() + "/" + socket.getPort())
                        .collect(Collectors.joining(","));
    }

    /** Without the token, so that no log has it. */
    @Override
    public String toString() {
        return "launcher at " + sockets;
    }

    /**
     * Hands something in; returns when the launcher has stored it. All addresses are called at once, so that one which
     * leads nowhere from here costs no time, and the first that answers gets it.
     *
     * @throws IOException if none of the addresses answers in time
     */
    public void send(String name, byte[] content) throws IOException {
        int limitMillis = name.equals(FAILURE) ? FAILING_MILLIS : RESULT_MILLIS;
        try (var calls = Calls.to(sockets)) {
            IOException last = null;
            long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMillis);
            for (var call = calls.next(deadline); call.isPresent(); call = calls.next(deadline)) {
                try {
                    handIn(call.get(), limitMillis, name, content);
                    return;
                } catch (IOException e) {
                    last = e;
                }
            }
            throw new IOException(this + " does not answer", last);
        }
    }

    private void handIn(SocketChannel channel, int limitMillis, String name, byte[] content) throws IOException {
        var connection = FramedConnection.greet(channel, HexFormat.of().parseHex(token), ANY_RANK);
        connection.limitReads(limitMillis);
        connection.send(new Upload(System.currentTimeMillis(), name, content.length).encode());
        for (int from = 0; from < content.length; from += Upload.PIECE_BYTES) {
            connection.send(ByteBuffer.wrap(content, from, Math.min(Upload.PIECE_BYTES, content.length - from)));
        }
        connection.receive(Upload.ANSWER_BYTES);
    }

    private static InetSocketAddress socket(String text) {
        String[] parts = text.split("/", 2);
        if (parts.length < 2 || !parts[1].matches("\\d{1,5}")) {
            throw new IllegalArgumentException(VARIABLE + " has no address/port in " + text);
        }
        try {
            return new InetSocketAddress(InetAddress.getByName(parts[0]), Integer.parseInt(parts[1]));
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(VARIABLE + " has no address in " + text, e);
        }
    }
}
