package io.hvd.net;

import io.hvd.error.FailureRecord;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Where a rank that does not see the launcher's folder hands in what belongs there. On the wire: the token's bytes, the
 * sender's clock in milliseconds, then name and content, each with its length before it; the answer is one byte when the content is stored.
 *
 * @param token in hexadecimal: what tells this job's ranks from strangers
 * @param doors of the launcher's host; which of them leads there differs by host
 */
public record LauncherAddress(String token, List<InetSocketAddress> doors) {

    /** Environment variable by which the launcher tells its ranks; unset where all of them see its folder. */
    public static final String VARIABLE = "HVD_LAUNCHER_ADDRESS";

    /** The name under which a {@link FailureRecord} is handed in. */
    public static final String FAILURE = "failure";

    /** A rank that fails has about a second; one that hands in a result has time. */
    private static final int FAILING_MILLIS = 400;

    private static final int RESULT_MILLIS = 30_000;

    private static final int PIECE_BYTES = 1 << 16;

    public LauncherAddress {
        doors = List.copyOf(doors);
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
                Stream.of(parts[1].split(",")).map(LauncherAddress::door).toList());
    }

    /** The value of {@link #VARIABLE}. */
    public String encode() {
        return token + "@"
                + doors.stream()
                        .map(door -> door.getAddress().getHostAddress() + "/" + door.getPort())
                        .collect(Collectors.joining(","));
    }

    /** Without the token, so that no log has it. */
    @Override
    public String toString() {
        return "launcher at " + doors;
    }

    /**
     * Hands something in; returns when the launcher has stored it. All addresses are called at once, so that one which
     * leads nowhere from here costs no time, and the first that answers gets it.
     *
     * @throws IOException if none of the addresses answers in time
     */
    public void send(String name, byte[] content) throws IOException {
        int limitMillis = name.equals(FAILURE) ? FAILING_MILLIS : RESULT_MILLIS;
        try (var calls = Calls.to(doors)) {
            IOException last = null;
            long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMillis);
            for (var line = calls.next(deadline); line.isPresent(); line = calls.next(deadline)) {
                try {
                    handIn(line.get(), limitMillis, name, content);
                    return;
                } catch (IOException e) {
                    last = e;
                }
            }
            throw new IOException(this + " does not answer", last);
        }
    }

    private void handIn(Socket socket, int limitMillis, String name, byte[] content) throws IOException {
        socket.setSoTimeout(limitMillis);
        // In one piece if it is small; a large one is not copied.
        var fields = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream(), PIECE_BYTES));
        fields.write(HexFormat.of().parseHex(token));
        fields.writeLong(System.currentTimeMillis());
        for (byte[] field : List.of(name.getBytes(StandardCharsets.UTF_8), content)) {
            fields.writeInt(field.length);
            fields.write(field);
        }
        fields.flush();
        new DataInputStream(socket.getInputStream()).readByte();
    }

    private static InetSocketAddress door(String text) {
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
