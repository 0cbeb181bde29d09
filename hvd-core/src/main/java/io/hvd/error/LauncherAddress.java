package io.hvd.error;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Where a rank that does not see the launcher's folder hands in what belongs there. On the wire: the token, the
 * name and the content, each with its length before it; the answer is one byte when the content is stored.
 *
 * @param token what tells this job's ranks from strangers
 * @param addresses of the launcher's host, the most likely one first
 * @param port on all of them
 */
public record LauncherAddress(String token, List<InetAddress> addresses, int port) {

    /** Environment variable by which the launcher tells its ranks; unset where all of them see its folder. */
    public static final String VARIABLE = "HVD_LAUNCHER_ADDRESS";

    /** The name under which a {@link FailureRecord} is handed in. */
    public static final String FAILURE = "failure";

    /** A rank that fails has about a second; one that hands in a result has time. */
    private static final int FAILING_MILLIS = 400;

    private static final int RESULT_MILLIS = 30_000;

    public LauncherAddress {
        addresses = List.copyOf(addresses);
    }

    /**
     * Reads what {@link #encode} has written.
     *
     * @throws IllegalArgumentException if the text is nothing of the kind
     */
    public static LauncherAddress decode(String text) {
        String[] parts = text.split("[@,]");
        if (parts.length < 3) {
            throw new IllegalArgumentException(VARIABLE + " is no token@port,address: " + text);
        }
        List<InetAddress> addresses = new ArrayList<>();
        for (int i = 2; i < parts.length; i++) {
            addresses.add(address(parts[i]));
        }
        return new LauncherAddress(parts[0], addresses, Integer.parseInt(parts[1]));
    }

    /** The value of {@link #VARIABLE}. */
    public String encode() {
        return token + "@" + port + ","
                + addresses.stream().map(InetAddress::getHostAddress).collect(Collectors.joining(","));
    }

    /**
     * Hands something in; returns when the launcher has stored it.
     *
     * @throws IOException if none of the addresses answers in time
     */
    public void send(String name, byte[] content) throws IOException {
        IOException last = new IOException("no address of the launcher is known");
        for (InetAddress address : addresses) {
            try {
                send(address, name, content);
                return;
            } catch (IOException e) {
                last = e;
            }
        }
        throw last;
    }

    private void send(InetAddress address, String name, byte[] content) throws IOException {
        try (Socket socket = new Socket()) {
            int limitMillis = name.equals(FAILURE) ? FAILING_MILLIS : RESULT_MILLIS;
            socket.connect(new InetSocketAddress(address, port), limitMillis);
            socket.setSoTimeout(limitMillis);
            var out = new DataOutputStream(socket.getOutputStream());
            var message = new ByteArrayOutputStream();
            var fields = new DataOutputStream(message);
            for (byte[] field : List.of(utf8(token), utf8(name), content)) {
                fields.writeInt(field.length);
                fields.write(field);
            }
            message.writeTo(out);
            new DataInputStream(socket.getInputStream()).readByte();
        } catch (SocketTimeoutException e) {
            throw new IOException(address + " does not answer", e);
        }
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static InetAddress address(String text) {
        try {
            return InetAddress.getByName(text);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(VARIABLE + " has no address in " + text, e);
        }
    }
}
