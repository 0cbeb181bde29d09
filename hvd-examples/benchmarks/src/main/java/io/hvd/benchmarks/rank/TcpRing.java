package io.hvd.benchmarks.rank;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import io.hvd.spi.Backend;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Measures the best that the network can do: plain TCP connections from each rank to the next one, which all carry
 * bytes at the same time; the bytes are not used. Each rank sends and receives at the same time, with a thread for each
 * direction.
 */
final class TcpRing implements AutoCloseable {
    private static final int PIECE = 256 << 10;

    private final SocketChannel next;
    private final SocketChannel before;
    private final ByteBuffer out = ByteBuffer.allocateDirect(PIECE);
    private final ByteBuffer in = ByteBuffer.allocateDirect(PIECE);
    private final ExecutorService sender = Executors.newSingleThreadExecutor();

    /** Connects to the neighbours; all ranks do so together. */
    TcpRing(Backend hvd, InetAddress here) throws IOException {
        var topology = hvd.topology();
        try (ServerSocketChannel listener = ServerSocketChannel.open().bind(new InetSocketAddress(here, 0))) {
            var mine = new InetSocketAddress(here, listener.socket().getLocalPort());
            List<byte[]> all = hvd.exchange(MessageWriter.encode(out -> out.writeSocketAddress(mine)));
            next = SocketChannel.open(MessageReader.decode(
                    "the address of a rank",
                    all.get((topology.rank() + 1) % topology.size()),
                    MessageReader::readSocketAddress));
            before = listener.accept();
        }
    }

    /** Sends this many bytes to the next rank and receives as many from the previous one. */
    void pass(long bytes) {
        CompletableFuture<Void> sent = CompletableFuture.runAsync(() -> send(bytes), sender);
        receive(bytes);
        sent.join();
    }

    private void send(long bytes) {
        try {
            for (long left = bytes; left > 0; ) {
                left -= next.write(out.clear().limit((int) Math.min(PIECE, left)));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void receive(long bytes) {
        try {
            for (long left = bytes; left > 0; ) {
                int come = before.read(in.clear().limit((int) Math.min(PIECE, left)));
                if (come < 0) {
                    throw new IOException(
                            "the rank before this one has closed its connection, " + left + " bytes too early");
                }
                left -= come;
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() throws IOException {
        sender.shutdown();
        next.close();
        before.close();
    }
}
