package io.hvd.launch;

import io.hvd.error.FailureRecord;
import io.hvd.error.LauncherAddress;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Pattern;

/**
 * Takes what ranks on other hosts hand in, and puts it into the folder in which the ranks of this host leave theirs.
 * Who does not know the token is not listened to, nor whoever sends more than a record or a result can have.
 */
final class FrontDesk implements Closeable {

    private static final Pattern RESULT = Pattern.compile("result-\\d{1,9}");
    private static final int MOST_RECORD_BYTES = 1 << 18;
    private static final int MOST_RESULT_BYTES = 1 << 30;
    private static final int SLOWEST_MILLIS = 10_000;
    private static final int WORKERS = 8;
    private static final int TOKEN_BYTES = 16;
    private static final int QUEUE = 1_000;

    private final Path folder;
    private final boolean takesResults;
    private final String token;
    private final ServerSocket door;
    private final List<InetAddress> addresses;
    private final ExecutorService workers = Executors.newFixedThreadPool(WORKERS, FrontDesk::worker);

    private FrontDesk(Path folder, boolean takesResults, List<InetAddress> addresses) throws IOException {
        this.folder = folder;
        this.takesResults = takesResults;
        this.addresses = addresses;
        byte[] random = new byte[TOKEN_BYTES];
        new SecureRandom().nextBytes(random);
        token = HexFormat.of().formatHex(random);
        door = new ServerSocket(0, QUEUE);
    }

    /**
     * Opens on all of this host's addresses.
     *
     * @param interfaces through which other hosts are reached; empty for all that lead out of this one
     */
    static FrontDesk open(Path folder, boolean takesResults, Set<String> interfaces) throws IOException {
        var desk = new FrontDesk(folder, takesResults, addresses(interfaces));
        worker(desk::receive).start();
        return desk;
    }

    LauncherAddress address() {
        return new LauncherAddress(token, addresses, door.getLocalPort());
    }

    @Override
    public void close() throws IOException {
        door.close();
        workers.shutdownNow();
    }

    private void receive() {
        while (!door.isClosed()) {
            try {
                Socket caller = door.accept();
                workers.execute(() -> serve(caller));
            } catch (IOException | java.util.concurrent.RejectedExecutionException e) {
                return; // closed
            }
        }
    }

    private void serve(Socket caller) {
        try (caller) {
            caller.setSoTimeout(SLOWEST_MILLIS);
            var in = new DataInputStream(caller.getInputStream());
            byte[] expected = token.getBytes(StandardCharsets.UTF_8);
            if (!MessageDigest.isEqual(expected, field(in, expected.length))) {
                return;
            }
            String name = new String(field(in, LauncherAddress.FAILURE.length() + TOKEN_BYTES), StandardCharsets.UTF_8);
            if (store(name, in)) {
                caller.getOutputStream().write(1);
            }
        } catch (IOException e) {
            return; // a rank that was cut off, or a stranger
        }
    }

    private boolean store(String name, DataInputStream in) throws IOException {
        if (name.equals(LauncherAddress.FAILURE)) {
            Optional<FailureRecord> record =
                    FailureRecord.decode(new String(field(in, MOST_RECORD_BYTES), StandardCharsets.UTF_8));
            if (record.isPresent()) {
                record.get().write(folder);
            }
            return record.isPresent();
        }
        if (!takesResults || !RESULT.matcher(name).matches()) {
            return false;
        }
        Path unfinished = Files.createTempFile(folder, name, ".tmp");
        Files.write(unfinished, field(in, MOST_RESULT_BYTES));
        Files.move(unfinished, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
        return true;
    }

    private static byte[] field(DataInputStream in, int most) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > most) {
            throw new IOException("a field of " + length + " bytes");
        }
        byte[] bytes = in.readNBytes(length);
        if (bytes.length < length) {
            throw new IOException("cut off");
        }
        return bytes;
    }

    /** IPv4 first: an IPv6 address that is only good for one link leads nowhere from another host. */
    private static List<InetAddress> addresses(Set<String> interfaces) throws IOException {
        List<InetAddress> found = new ArrayList<>();
        for (NetworkInterface one : Collections.list(NetworkInterface.getNetworkInterfaces())) {
            boolean wanted = interfaces.isEmpty()
                    ? !Interfaces.used(List.of(one.getName())).isEmpty()
                    : interfaces.contains(one.getName());
            if (wanted && one.isUp()) {
                found.addAll(Collections.list(one.getInetAddresses()));
            }
        }
        return found.stream()
                .filter(address -> !address.isLoopbackAddress() && !address.isLinkLocalAddress())
                .sorted(Comparator.comparing(address -> !(address instanceof Inet4Address)))
                .toList();
    }

    private static Thread worker(Runnable task) {
        Thread thread = new Thread(task, "hvd-launch-desk");
        thread.setDaemon(true);
        return thread;
    }
}
