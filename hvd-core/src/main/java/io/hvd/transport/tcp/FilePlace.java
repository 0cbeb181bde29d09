package io.hvd.transport.tcp;

import io.hvd.config.HvdConfig;
import io.hvd.config.RankPlace;
import io.hvd.config.RankPlace.OnOneHost;
import io.hvd.config.Secret;
import io.hvd.file.RegularFile;
import io.hvd.net.Encryption;
import io.hvd.net.HandshakeListener;
import io.hvd.rendezvous.RendezvousServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.HexFormat;
import java.util.List;

/**
 * A file in which rank 0 tells the other ranks of its host where it listens, with a secret of its own. Only their user can read
 * it, and they read no file of another user.
 */
final class FilePlace extends MeetingPlace {
    private static final int NAME_BYTES = 16;

    private final Path file;
    /** Empty before the file has been read. */
    private byte[] secret = {};
    /** Null on the other ranks. */
    private RendezvousServer server;

    private FilePlace(Path file, Encryption encryption) {
        super("the file " + file + " of rank 0", encryption);
        this.file = file;
    }

    static FilePlace of(OnOneHost here, RankPlace mine, HvdConfig config) throws IOException {
        String name = HexFormat.of().formatHex(Secret.of(here.key()).bytes(NAME_BYTES));
        FilePlace place = new FilePlace(
                Path.of(System.getProperty("java.io.tmpdir"), "hvd-" + name),
                config.control().encryption());
        if (mine.rank() == 0) {
            place.open(mine.size(), config);
        }
        return place;
    }

    private void open(int size, HvdConfig config) throws IOException {
        ServerSocketChannel socket = HandshakeListener.bind(
                InetAddress.getLoopbackAddress(), config.control().ports());
        byte[] random = HandshakeListener.newSecret();
        int port = ((InetSocketAddress) socket.getLocalAddress()).getPort();
        server = serve(List.of(socket), size, random, config);
        Path written = Files.createTempFile(file.getParent(), "hvd", "", RegularFile.onlyMine());
        Files.writeString(written, port + " " + HexFormat.of().formatHex(random), StandardOpenOption.WRITE);
        Files.move(written, file, StandardCopyOption.ATOMIC_MOVE);
        file.toFile().deleteOnExit();
    }

    @Override
    public List<InetSocketAddress> addresses() throws IOException {
        try {
            if (!RegularFile.isMine(file)) {
                throw new IOException(
                        file + " belongs to " + Files.getOwner(file) + ", who may not be this job's user");
            }
            String[] words = Files.readString(file).split(" ");
            secret = HexFormat.of().parseHex(words[1]);
            return List.of(new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(words[0])));
        } catch (NoSuchFileException e) {
            throw new IOException("rank 0 has not written it yet", e);
        }
    }

    @Override
    public byte[] secret() {
        return secret;
    }

    @Override
    public void close() {
        if (server != null) {
            server.close();
            file.toFile().delete();
        }
    }
}
