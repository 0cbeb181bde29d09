package io.hvd.spi;

import io.hvd.config.HvdConfig;
import java.util.List;
import java.util.concurrent.Executor;

/**
 * Connects processes by a transport. {@link java.util.ServiceLoader} finds those that {@code
 * HVD_BACKEND=transport:NAME} may name; such a class has a public constructor without parameters.
 */
public interface TransportProvider {
    /** The name by which the setting chooses it, in any case. */
    String name();

    /** The thread on which {@link #connect} and all later calls must run; it is a daemon. */
    Executor communicationThread();

    /**
     * Connects this process to the others that have been started with it.
     *
     * @param ranks ranks of the launcher's job that take part, in their new order; empty means all ranks
     */
    Connection connect(HvdConfig config, List<Integer> ranks);

    /** This process among the others. */
    interface Connection {
        /** Says which rank this process is. */
        Bootstrap bootstrap();

        /** The transport between the processes, opened by this connection. */
        Transport transport();

        /**
         * Takes over the barrier at which the processes have met when they left the job in order. They may meet there
         * again before the transport itself ends; a transport that has no use for it closes it.
         */
        void inherit(LastBarrier barrier);
    }
}
