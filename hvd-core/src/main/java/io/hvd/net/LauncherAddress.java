package io.hvd.net;

import io.hvd.error.FailureRecord;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The address at which a rank that does not see the launcher's folder uploads files for it. After the hello the rank
 * sends an {@link Upload} and then the content, in pieces; the launcher answers with one message when it has stored the
 * content.
 *
 * @param token a word in hexadecimal; it distinguishes this job's ranks from other processes
 * @param sockets the addresses of the launcher's host; which of them can be reached differs by host
 */
public record LauncherAddress(String token, List<InetSocketAddress> sockets) {

    /**
     * The environment variable by which the launcher tells its ranks the address; it is unset where all of them see its
     * folder.
     */
    public static final String VARIABLE = "HVD_LAUNCHER_ADDRESS";

    /** The limit for a rank that fails, which has about a second; a rank that uploads a result has more time. */
    private static final int FAILING_MILLIS = 400;

    private static final int RESULT_MILLIS = 30_000;

    /** The number in the hello; the launcher treats all ranks alike. */
    private static final int ANY_RANK = 0;

    public LauncherAddress {
        sockets = List.copyOf(sockets);
    }

    /** That of a server with listening sockets. @param secret by which it knows whoever comes */
    public static LauncherAddress of(List<ServerSocketChannel> sockets, byte[] secret) throws IOException {
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (ServerSocketChannel socket : sockets) {
            addresses.add((InetSocketAddress) socket.getLocalAddress());
        }
        return new LauncherAddress(HexFormat.of().formatHex(secret), addresses);
    }

    /**
     * Reads a text that {@link #encode} has written.
     *
     * @throws IllegalArgumentException if the text has another form
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
                        .map(socket -> HostAddress.digits(socket.getAddress()) + "/" + socket.getPort())
                        .collect(Collectors.joining(","));
    }

    /** The address without the token, so that no log contains it. */
    @Override
    public String toString() {
        return "launcher at " + sockets;
    }

    /**
     * Uploads content; returns when the launcher has stored it. All addresses are tried at once, so that an unreachable
     * one costs no time; the first one that answers gets the content.
     *
     * @param encryption the launcher's
     *
     * @throws IOException if none of the addresses answers in time
     */
    public void send(String name, byte[] content, Encryption encryption) throws IOException {
        int limitMillis = name.equals(FailureRecord.FAILURE) ? FAILING_MILLIS : RESULT_MILLIS;
        try (var calls = Calls.to(sockets)) {
            IOException last = null;
            long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMillis);
            for (var call = calls.next(deadline); call.isPresent(); call = calls.next(deadline)) {
                try {
                    handIn(
                            FramedConnection.greet(call.get(), encryption, secret(), ANY_RANK, limitMillis),
                            name,
                            content);
                    return;
                } catch (IOException e) {
                    last = e;
                }
            }
            throw new IOException(this + " does not answer", last);
        }
    }

    /** The secret by which the launcher and its ranks know each other. */
    public byte[] secret() {
        return HexFormat.of().parseHex(token);
    }

    private static void handIn(FramedConnection connection, String name, byte[] content) throws IOException {
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
