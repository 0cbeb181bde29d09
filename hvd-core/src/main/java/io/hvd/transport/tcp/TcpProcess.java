package io.hvd.transport.tcp;

import io.hvd.config.HvdConfig;
import io.hvd.config.RankPlace;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.net.HostAddress;
import io.hvd.rendezvous.Rendezvous;
import io.hvd.spi.Subset;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;

/** This process among those that meet without MPI, in one job after the other. */
final class TcpProcess {
    static final TcpProcess THIS = new TcpProcess("hvd-engine-tcp");

    private final String thread;

    /** Null unless some of the ranks may still meet there. */
    private MeetingPlace place;
    /** What {@link #place} was made of; null before the first one. */
    private RankPlace madeOf;
    /** The least number of the next job. */
    private int next;

    /** @param thread the name of its communication thread */
    TcpProcess(String thread) {
        this.thread = thread;
    }

    /** A communication thread for one job. */
    void start(Runnable task) {
        Thread started = new Thread(task, thread);
        started.setDaemon(true);
        started.start();
    }

    /**
     * Meets the other ranks.
     *
     * @param ranks ranks of the launcher's job that take part, in their new order; empty means all ranks
     * @param why why this rank uses TCP; empty if the user has asked for it
     */
    synchronized TcpBootstrap join(HvdConfig config, List<Integer> ranks, String why) {
        RankPlace mine = config.started()
                .place()
                .orElseThrow(() -> new HvdException(
                        ErrorId.INIT_FAILED,
                        "nothing tells this process both its rank and how many ranks there are: set HOROVOD_RANK,"
                                + " HOROVOD_SIZE and HVD_RENDEZVOUS; docs/how-to/running.md shows how"));
        List<Integer> members =
                ranks.isEmpty() ? IntStream.range(0, mine.size()).boxed().toList() : ranks;
        Subset.require(members, mine.rank(), mine.size());
        if (place != null && !mine.equals(madeOf)) {
            place.close(); // that of an earlier generation of an elastic job, which has not begun
            place = null;
        }
        place = place == null ? MeetingPlace.of(mine, config) : place;
        madeOf = mine;
        Rendezvous rendezvous = Rendezvous.join(
                place,
                new Rendezvous.Rank(mine.rank(), mine.size(), HostAddress.localName()),
                members,
                Duration.ofSeconds(config.control().startTimeoutSeconds()));
        if (members.size() == mine.size()) {
            place.close();
            place = null;
        } // else other ranks of this launcher's job may still come here, to jobs of their own
        try {
            TcpBootstrap bootstrap = new TcpBootstrap(rendezvous, members.indexOf(mine.rank()), next, why);
            next = bootstrap.generation() + 1;
            return bootstrap;
        } catch (RuntimeException e) {
            rendezvous.close();
            throw e;
        }
    }
}
