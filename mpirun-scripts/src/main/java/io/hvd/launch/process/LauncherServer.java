package io.hvd.launch.process;

import io.hvd.net.Encryption;
import io.hvd.net.FramedConnection;
import io.hvd.net.HandshakeListener;
import io.hvd.net.LauncherAddress;
import io.hvd.net.MalformedMessageException;
import io.hvd.net.PortRange;
import io.hvd.net.ServerSockets;
import io.hvd.net.Upload;
import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Serves the ranks on other hosts that hand in records and results, for the folder in which the ranks of this host leave
 * theirs. A connection that does not know the token is not heard.
 */
public final class LauncherServer implements Closeable {

    private static final int SLOWEST_MILLIS = 10_000;
    private static final int WORKERS = 8;

    /** A rank that hands in has the rest of a message to send, and its failure is what the launcher shows. */
    private static final long CLOSING_MILLIS = 1_000;

    private final UploadStore store;
    private final byte[] token;
    private final LauncherAddress address;
    private final HandshakeListener listener;
    private final Set<FramedConnection> connections = ConcurrentHashMap.newKeySet();
    private final ExecutorService workers = Executors.newFixedThreadPool(WORKERS, LauncherServer::worker);

    private LauncherServer(UploadStore store, List<ServerSocketChannel> sockets, Encryption encryption)
            throws IOException {
        this.store = store;
        this.token = HandshakeListener.newSecret();
        address = LauncherAddress.of(sockets, token);
        listener = new HandshakeListener(sockets, encryption);
    }

    /**
     * Opens on this host's addresses.
     *
     * @param interfaces comma list of names and networks through which other hosts are reached; empty for all that lead
     *     out of this one
     */
    public static LauncherServer open(
            Path folder, boolean takesResults, String interfaces, PortRange ports, Encryption encryption)
            throws IOException {
        return openAt(folder, takesResults, ServerSockets.addresses(interfaces), ports, encryption);
    }

    static LauncherServer openAt(
            Path folder, boolean takesResults, List<InetAddress> addresses, PortRange ports, Encryption encryption)
            throws IOException {
        var store = new UploadStore(folder, takesResults);
        LauncherServer server =
                ServerSockets.listen(addresses, ports, sockets -> new LauncherServer(store, sockets, encryption));
        worker(server::accept).start();
        return server;
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
            if (store.take(upload, rank)) {
                rank.send(Upload.stored());
            }
        } catch (IOException | MalformedMessageException e) {
            return; // a rank that was cut off
        } finally {
            connections.remove(rank);
        }
    }

    private static Thread worker(Runnable task) {
        Thread thread = new Thread(task, "hvd-launch-server");
        thread.setDaemon(true);
        return thread;
    }
}
