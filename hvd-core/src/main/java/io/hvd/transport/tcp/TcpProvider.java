package io.hvd.transport.tcp;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.LastBarrier;
import io.hvd.spi.Transport;
import io.hvd.spi.TransportProvider;
import java.util.List;
import java.util.concurrent.Executor;

/** Connects processes by TCP; they need no MPI. */
public final class TcpProvider implements TransportProvider {
    public static final String NAME = "tcp";

    private final String why;
    private final TcpProcess process;

    /** @param why why it is TCP, for the log line; empty if the user has asked for it */
    public TcpProvider(String why) {
        this(why, TcpProcess.THIS);
    }

    TcpProvider(String why, TcpProcess process) {
        this.why = why;
        this.process = process;
    }

    /** For a rank that shares its process with others; it has a communication thread of its own. */
    public static TcpProvider ofTask(int rank) {
        return new TcpProvider("", new TcpProcess("hvd-engine-tcp-" + rank));
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Executor communicationThread() {
        return process::start;
    }

    @Override
    public Connection connect(HvdConfig config, List<Integer> ranks) {
        TcpBootstrap bootstrap = joined(config, ranks);
        try {
            return new TcpConnection(bootstrap, TcpTransport.open(bootstrap, config, bootstrap.why()));
        } catch (RuntimeException e) {
            bootstrap.close();
            throw e;
        }
    }

    /** A rank that has chosen by itself may have chosen otherwise than those that do not come. */
    private TcpBootstrap joined(HvdConfig config, List<Integer> ranks) {
        try {
            return process.join(config, ranks, why);
        } catch (HvdException e) {
            throw why.isEmpty() || !config.started().ofMpi() || e.id() != ErrorId.INIT_FAILED
                    ? e
                    : new HvdException(
                            e.id(),
                            e.words() + ". This rank uses tcp, " + why
                                    + "; ranks that have MPI wait for it there, unless HVD_BACKEND=tcp is set on all",
                            e);
        }
    }

    private record TcpConnection(Bootstrap bootstrap, Transport transport) implements Connection {
        /** Nothing comes after the last barrier. */
        @Override
        public void inherit(LastBarrier barrier) {
            barrier.close();
        }
    }
}
