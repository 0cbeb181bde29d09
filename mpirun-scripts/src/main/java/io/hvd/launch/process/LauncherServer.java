package io.hvd.launch.process;

import io.hvd.error.FailureRecord;
import io.hvd.net.FramedConnection;
import io.hvd.net.HandshakeListener;
import io.hvd.net.Interfaces;
import io.hvd.net.LauncherAddress;
import io.hvd.net.MalformedMessageException;
import io.hvd.net.Upload;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.ByteBuffer;
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
 * A connection that does not know the token is not heard, nor one that sends more than a record or a result can have.
 */
public final class LauncherServer implements Closeable {

    private static final Pattern RESULT = Pattern.compile("result-\\d{1,9}");
    private static final int MOST_RECORD_BYTES = 1 << 18;
    private static final int MOST_RESULT_BYTES = 1 << 30;
    private static final int SLOWEST_MILLIS = 10_000;
    private static final int WORKERS = 8;

    /** Clocks that are kept in step differ by less, and a busy host answers within it. */
    private static final int SLOW_WAY_MILLIS = 250;

    /** A rank that hands in has the rest of a message to send, and its failure is what the launcher shows. */
    private static final long CLOSING_MILLIS = 1_000;

    private final Path folder;
    private final boolean takesResults;
    private final byte[] token;
    private final LauncherAddress address;
    private final HandshakeListener listener;
    private final Set<FramedConnection> connections = ConcurrentHashMap.newKeySet();
    private final ExecutorService workers = Executors.newFixedThreadPool(WORKERS, LauncherServer::worker);

    private LauncherServer(Path folder, boolean takesResults, List<ServerSocketChannel> sockets) throws IOException {
        this.folder = folder;
        this.takesResults = takesResults;
        this.token = HandshakeListener.newSecret();
        List<InetSocketAddress> addresses = new ArrayList<>();
        for (ServerSocketChannel socket : sockets) {
            addresses.add((InetSocketAddress) socket.getLocalAddress());
        }
        address = new LauncherAddress(HexFormat.of().formatHex(token), addresses);
        listener = new HandshakeListener(sockets);
    }

    /**
     * Opens on this host's addresses, at each a port that the system chooses.
     *
     * @param interfaces comma list of names and networks through which other hosts are reached; empty for all that lead
     *     out of this one
     */
    public static LauncherServer open(Path folder, boolean takesResults, String interfaces) throws IOException {
        return openAt(folder, takesResults, addresses(interfaces));
    }

    static LauncherServer openAt(Path folder, boolean takesResults, List<InetAddress> addresses) throws IOException {
        List<ServerSocketChannel> sockets = new ArrayList<>();
        try {
            for (InetAddress address : addresses) {
                sockets.add(HandshakeListener.bind(address));
            }
            var server = new LauncherServer(folder, takesResults, sockets);
            worker(server::accept).start();
            return server;
        } catch (IOException e) {
            for (ServerSocketChannel socket : sockets) {
                socket.close();
            }
            throw e;
        }
    }

    public LauncherAddress address() {
        return address;
    }

    /** A rank that is being served gets a moment. When this returns none is, and the folder may go. */
    @Override
    public void close() throws IOException {
        listener.close();
        workers.shutdown();
        if (!workersEndWithin(CLOSING_MILLIS)) {
            connections.forEach(LauncherServer::drop);
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

    private void accept() {
        try {
            for (var accepted = listener.next(token, Long.MAX_VALUE);
                    accepted.isPresent();
                    accepted = listener.next(token, Long.MAX_VALUE)) {
                enqueue(accepted.get().connection());
            }
        } catch (IOException e) {
            return; // closed
        }
    }

    private void enqueue(FramedConnection rank) {
        connections.add(rank);
        try {
            workers.execute(() -> serve(rank));
        } catch (RejectedExecutionException e) {
            connections.remove(rank);
            drop(rank); // the server was closed meanwhile
        }
    }

    private static void drop(FramedConnection rank) {
        try {
            rank.close();
        } catch (IOException e) {
            return; // it is being given up anyway
        }
    }

    private void serve(FramedConnection rank) {
        try (rank) {
            rank.limitReads(SLOWEST_MILLIS);
            Upload upload = Upload.decode(rank.receive(Upload.MOST_BYTES));
            if (store(upload, ahead(upload.sentMillis()), rank)) {
                rank.send(Upload.stored());
            }
        } catch (IOException | MalformedMessageException e) {
            return; // a rank that was cut off
        } finally {
            connections.remove(rank);
        }
    }

    /**
     * How far this clock is ahead of the sender's, so that failures of all hosts are compared by one. On the way time only
     * passes: a message from the future has a wrong clock, one from the past perhaps a slow network.
     *
     * @param sentMillis the time by the sender's clock
     */
    private static Duration ahead(long sentMillis) {
        long millis = System.currentTimeMillis() - sentMillis;
        return millis < 0 || millis > SLOW_WAY_MILLIS ? Duration.ofMillis(millis) : Duration.ZERO;
    }

    private boolean store(Upload upload, Duration ahead, FramedConnection rank) throws IOException {
        if (upload.name().equals(LauncherAddress.FAILURE)) {
            return storeFailure(upload, ahead, rank);
        }
        return takesResults && RESULT.matcher(upload.name()).matches() && storeResult(upload, rank);
    }

    private boolean storeFailure(Upload upload, Duration ahead, FramedConnection rank) throws IOException {
        var text = new ByteArrayOutputStream();
        copy(upload, MOST_RECORD_BYTES, rank, text);
        Optional<FailureRecord> record = FailureRecord.decode(text.toString(StandardCharsets.UTF_8));
        if (record.isPresent()) {
            record.get().by(ahead).write(folder);
        }
        return record.isPresent();
    }

    private boolean storeResult(Upload upload, FramedConnection rank) throws IOException {
        Path unfinished = Files.createTempFile(folder, upload.name(), ".tmp");
        try {
            try (OutputStream out = Files.newOutputStream(unfinished)) {
                copy(upload, MOST_RESULT_BYTES, rank, out);
            }
            Files.move(unfinished, folder.resolve(upload.name()), StandardCopyOption.ATOMIC_MOVE);
            return true;
        } finally {
            Files.deleteIfExists(unfinished);
        }
    }

    /** Copies the content as it comes: all workers together may be handed more than the launcher has memory. */
    private static void copy(Upload upload, int most, FramedConnection rank, OutputStream out) throws IOException {
        if (upload.bytes() < 0 || upload.bytes() > most) {
            throw new IOException("a content of " + upload.bytes() + " bytes, expected 0 to " + most);
        }
        int left = upload.bytes();
        while (left > 0) {
            ByteBuffer piece = rank.receive(Math.min(left, Upload.PIECE_BYTES));
            if (!piece.hasRemaining()) {
                throw new IOException("an empty piece, expected up to " + left + " bytes");
            }
            left -= piece.remaining();
            out.write(piece.array(), piece.arrayOffset() + piece.position(), piece.remaining());
        }
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
        Thread thread = new Thread(task, "hvd-launch-server");
        thread.setDaemon(true);
        return thread;
    }
}
