package io.hvd.launch;

import io.hvd.error.FailureRecord;
import io.hvd.net.HandshakeListener;
import io.hvd.net.Interfaces;
import io.hvd.net.LauncherAddress;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.Socket;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * Takes what ranks on other hosts hand in, and puts it into the folder in which the ranks of this host leave theirs.
 * A caller that does not know the token is not heard, nor one that sends more than a record or a result can have.
 */
final class FrontDesk implements Closeable {

    private static final Pattern RESULT = Pattern.compile("result-\\d{1,9}");
    private static final int MOST_RECORD_BYTES = 1 << 18;
    private static final int MOST_RESULT_BYTES = 1 << 30;
    private static final int PIECE_BYTES = 1 << 16;
    private static final int SLOWEST_MILLIS = 10_000;
    private static final int WORKERS = 8;

    /** Clocks that are kept in step differ by less, and a busy host answers within it. */
    private static final int SLOW_WAY_MILLIS = 250;

    /** A rank that hands in has the rest of a message to send, and its failure is what the launcher shows. */
    private static final long CLOSING_MILLIS = 1_000;

    private static final int LONGEST_NAME = 32;

    private final Path folder;
    private final boolean takesResults;
    private final byte[] token;
    private final LauncherAddress address;
    private final HandshakeListener listener;
    private final Set<Socket> callers = ConcurrentHashMap.newKeySet();
    private final ExecutorService workers = Executors.newFixedThreadPool(WORKERS, FrontDesk::worker);

    private FrontDesk(Path folder, boolean takesResults, List<ServerSocketChannel> doors) throws IOException {
        this.folder = folder;
        this.takesResults = takesResults;
        this.token = HandshakeListener.newSecret();
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (ServerSocketChannel door : doors) {
            addresses.add((InetSocketAddress) door.getLocalAddress());
        }
        address = new LauncherAddress(HexFormat.of().formatHex(token), addresses);
        listener = new HandshakeListener(doors, 0);
    }

    /**
     * Opens on this host's addresses, at each a port that the system chooses.
     *
     * @param interfaces comma list of names and networks through which other hosts are reached; empty for all that lead
     *     out of this one
     */
    static FrontDesk open(Path folder, boolean takesResults, String interfaces) throws IOException {
        return openAt(folder, takesResults, addresses(interfaces));
    }

    static FrontDesk openAt(Path folder, boolean takesResults, List<InetAddress> addresses) throws IOException {
        List<ServerSocketChannel> doors = new ArrayList<>();
        try {
            for (InetAddress address : addresses) {
                doors.add(HandshakeListener.door(address));
            }
            var desk = new FrontDesk(folder, takesResults, doors);
            worker(desk::receive).start();
            return desk;
        } catch (IOException e) {
            for (ServerSocketChannel door : doors) {
                door.close();
            }
            throw e;
        }
    }

    LauncherAddress address() {
        return address;
    }

    /** A caller that is being served gets a moment. When this returns none is, and the folder may go. */
    @Override
    public void close() throws IOException {
        listener.close();
        workers.shutdown();
        if (!workersEndWithin(CLOSING_MILLIS)) {
            callers.forEach(FrontDesk::showOut);
            workersEndWithin(CLOSING_MILLIS);
        }
    }

    private boolean workersEndWithin(long millis) {
        try {
            return workers.awaitTermination(millis, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private void receive() {
        try {
            for (var guest = listener.next(token, Long.MAX_VALUE);
                    guest.isPresent();
                    guest = listener.next(token, Long.MAX_VALUE)) {
                admit(guest.get().channel().socket());
            }
        } catch (IOException e) {
            return; // closed
        }
    }

    private void admit(Socket caller) {
        callers.add(caller);
        try {
            workers.execute(() -> serve(caller));
        } catch (RejectedExecutionException e) {
            callers.remove(caller);
            showOut(caller); // the desk was closed meanwhile
        }
    }

    private static void showOut(Socket caller) {
        try {
            caller.close();
        } catch (IOException e) {
            return; // it is being given up anyway
        }
    }

    private void serve(Socket caller) {
        try (caller) {
            caller.setSoTimeout(SLOWEST_MILLIS);
            var in = new DataInputStream(caller.getInputStream());
            Duration ahead = ahead(in.readLong());
            String name = new String(field(in, LONGEST_NAME), StandardCharsets.UTF_8);
            if (store(name, ahead, in)) {
                caller.getOutputStream().write(1);
            }
        } catch (IOException e) {
            return; // a rank that was cut off
        } finally {
            callers.remove(caller);
        }
    }

    /**
     * How far this clock is ahead of the sender's, so that failures of all hosts are compared by one. On the way time only
     * passes: a message from the future has a wrong clock, one from the past perhaps a slow network.
     *
     * @param sentMillis by the sender's clock
     */
    private static Duration ahead(long sentMillis) {
        long millis = System.currentTimeMillis() - sentMillis;
        return millis < 0 || millis > SLOW_WAY_MILLIS ? Duration.ofMillis(millis) : Duration.ZERO;
    }

    private boolean store(String name, Duration ahead, DataInputStream in) throws IOException {
        if (name.equals(LauncherAddress.FAILURE)) {
            Optional<FailureRecord> record =
                    FailureRecord.decode(new String(field(in, MOST_RECORD_BYTES), StandardCharsets.UTF_8));
            if (record.isPresent()) {
                record.get().by(ahead).write(folder);
            }
            return record.isPresent();
        }
        if (!takesResults || !RESULT.matcher(name).matches()) {
            return false;
        }
        Path unfinished = Files.createTempFile(folder, name, ".tmp");
        try {
            write(in, unfinished);
            Files.move(unfinished, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
            return true;
        } finally {
            Files.deleteIfExists(unfinished);
        }
    }

    /** As it comes: all workers together may be handed more than the launcher has memory. */
    private static void write(DataInputStream in, Path file) throws IOException {
        int left = length(in, MOST_RESULT_BYTES);
        byte[] piece = new byte[Math.min(left, PIECE_BYTES)];
        try (OutputStream out = Files.newOutputStream(file)) {
            while (left > 0) {
                int read = in.read(piece, 0, Math.min(left, piece.length));
                if (read < 0) {
                    throw cutOff(left);
                }
                out.write(piece, 0, read);
                left -= read;
            }
        }
    }

    private static byte[] field(DataInputStream in, int most) throws IOException {
        int length = length(in, most);
        byte[] bytes = in.readNBytes(length);
        if (bytes.length < length) {
            throw cutOff(length - bytes.length);
        }
        return bytes;
    }

    private static int length(DataInputStream in, int most) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > most) {
            throw new IOException("a field of " + length + " bytes, of which there are at most " + most);
        }
        return length;
    }

    private static IOException cutOff(int missing) {
        return new IOException("cut off " + missing + " bytes before the end");
    }

    /** IPv4 first: an IPv6 address that is only good for one link leads nowhere from another host. */
    private static List<InetAddress> addresses(String interfaces) throws IOException {
        List<InetAddress> found = new ArrayList<>();
        for (NetworkInterface one : Collections.list(NetworkInterface.getNetworkInterfaces())) {
            if (one.isUp()) {
                one.inetAddresses()
                        .filter(address -> Interfaces.isMeant(interfaces, one.getName(), address))
                        .forEach(found::add);
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
