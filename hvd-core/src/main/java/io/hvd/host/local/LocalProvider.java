package io.hvd.host.local;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.net.HostAddress;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.stream.IntStream;

/**
 * Makes back ends for ranks that are threads of this JVM, or for the one rank of a program that was started without
 * mpirun.
 */
public final class LocalProvider implements BackendProvider {
    private final LocalHub hub;
    private final int rank;
    private final int generation;

    private LocalProvider(LocalHub hub, int rank, int generation) {
        this.hub = hub;
        this.rank = rank;
        this.generation = generation;
    }

    /** Providers for ranks 0 to {@code size - 1}, which find each other in memory. */
    public static List<LocalProvider> ofThreads(int size, int stageBytes) {
        LocalHub hub = new LocalHub(size, stageBytes);
        return IntStream.range(0, size)
                .mapToObj(rank -> new LocalProvider(hub, rank, 0))
                .toList();
    }

    /** A rank that is alone. @param generation how many jobs it was in before */
    public static LocalProvider alone(int stageBytes, int generation) {
        return new LocalProvider(new LocalHub(1, stageBytes), 0, generation);
    }

    /** This rank will come to no meeting any more, so that no other one need wait for it. Any thread may call it. */
    public void giveUp(String why) {
        hub.lose(rank, why);
    }

    @Override
    public String name() {
        return "local";
    }

    @Override
    public Executor communicationThread() {
        return task -> {
            Thread thread = new Thread(task, "hvd-engine-" + rank);
            thread.setDaemon(true);
            thread.start();
        };
    }

    @Override
    public Backend open(HvdConfig config, List<Integer> ranks) {
        for (int asked : ranks) {
            if (asked < 0 || asked >= hub.size()) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "init for ranks " + ranks + ": rank " + asked + " is not in [0, " + (hub.size() - 1)
                                + "]; without a launcher such as horovodrun a job has one rank");
            }
        }
        String words = hub.size() == 1 ? "local (one rank)" : "local (" + hub.size() + " ranks as threads of one JVM)";
        return new Backend(
                new Backend.Description("local", words),
                new ThreadBootstrap(hub, rank, HostAddress.localName(), generation),
                new MailboxPlane(hub, rank),
                new ThreadPlanes(hub, rank));
    }
}
