package io.hvd.transport.tcp;

import io.hvd.config.HvdConfig;
import io.hvd.config.RankPlace;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.net.Encryption;
import io.hvd.net.LauncherAddress;
import io.hvd.rendezvous.Rendezvous;
import io.hvd.rendezvous.RendezvousServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;

/** The rendezvous of this process's launcher, whose server runs here if this is rank 0 and no launcher runs it. */
abstract class MeetingPlace implements Rendezvous.Place, AutoCloseable {
    private final String source;
    private final Encryption encryption;

    MeetingPlace(String source, Encryption encryption) {
        this.source = source;
        this.encryption = encryption;
    }

    /** Lets no more ranks meet here, if this is where they do; those that have met go on. */
    @Override
    public void close() {
        // Another process has the server.
    }

    @Override
    public Encryption encryption() {
        return encryption;
    }

    @Override
    public OptionalInt server() {
        return OptionalInt.of(0);
    }

    @Override
    public String source() {
        return source;
    }

    /** On rank 0 this starts the server. */
    static MeetingPlace of(RankPlace mine, HvdConfig config) {
        RankPlace.Meeting meeting =
                mine.meeting().orElseThrow(() -> new HvdException(ErrorId.INIT_FAILED, mine.noMeeting()));
        try {
            if (meeting instanceof RankPlace.AtRankZero there) {
                return FixedPlace.of(there, mine, config);
            }
            if (meeting instanceof RankPlace.OnOneHost here) {
                return FilePlace.of(here, mine, config);
            }
            if (meeting instanceof RankPlace.AtLauncher there) {
                return new LauncherPlace(
                        LauncherAddress.decode(there.address()),
                        config.control().encryption());
            }
            throw new HvdException(ErrorId.INIT_FAILED, RankPlace.ONLY_BY_ELASTIC_RUN);
        } catch (IOException e) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    "rank " + mine.rank() + " cannot let the other ranks meet (" + meeting + "): " + e.getMessage(),
                    e);
        }
    }

    /** Lets the ranks of a launcher's job meet. @param secret recognises them */
    static RendezvousServer serve(List<ServerSocketChannel> sockets, int size, byte[] secret, HvdConfig config)
            throws IOException {
        Duration limit = Duration.ofSeconds(config.control().startTimeoutSeconds());
        return RendezvousServer.start(
                sockets, new RendezvousServer.Job(size, secret, config.control().encryption(), limit));
    }

    private static final class LauncherPlace extends MeetingPlace {
        private final LauncherAddress launcher;

        LauncherPlace(LauncherAddress launcher, Encryption encryption) {
            super("horovodrun's rendezvous, " + launcher, encryption);
            this.launcher = launcher;
        }

        @Override
        public List<InetSocketAddress> addresses() {
            return launcher.sockets();
        }

        @Override
        public byte[] secret() {
            return launcher.secret();
        }

        @Override
        public OptionalInt server() {
            return OptionalInt.empty();
        }
    }
}
