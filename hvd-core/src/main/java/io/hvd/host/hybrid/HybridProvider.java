package io.hvd.host.hybrid;

import io.hvd.config.HvdConfig;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.host.local.LocalHub;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.TransportProvider;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.stream.IntStream;

/** Makes back ends for ranks that are threads of several JVMs, which a transport connects. */
public final class HybridProvider implements BackendProvider {
    private final JvmState jvm;
    private final int thread;

    private HybridProvider(JvmState jvm, int thread) {
        this.jvm = jvm;
        this.thread = thread;
    }

    /** The state that the threads of one JVM share; it has the back end's thread as soon as the first of them has opened. */
    private static final class JvmState {
        final TransportProvider between;
        final LocalHub hub;
        final OncePerProcess oncePerProcess;
        volatile BackendThread backendThread;

        JvmState(TransportProvider between, LocalHub hub) {
            this.between = between;
            this.hub = hub;
            this.oncePerProcess = new OncePerProcess(hub.rendezvous());
        }
    }

    /**
     * Providers for this process's ranks, by thread.
     *
     * @param between connects the processes, on its own thread, which is then busy with it
     * @param stageBytes the most bytes of a rank's data that are under way at a time
     */
    public static List<HybridProvider> ofProcess(int threads, int stageBytes, TransportProvider between) {
        JvmState jvm = new JvmState(between, new LocalHub(threads, stageBytes));
        return IntStream.range(0, threads)
                .mapToObj(thread -> new HybridProvider(jvm, thread))
                .toList();
    }

    @Override
    public String name() {
        return "hybrid";
    }

    @Override
    public Executor communicationThread() {
        return task -> {
            Thread engine = new Thread(task, "hvd-engine-thread-" + thread);
            engine.setDaemon(true);
            engine.start();
        };
    }

    @Override
    public Backend open(HvdConfig config, List<Integer> ranks) {
        if (!ranks.isEmpty()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "init for ranks " + ranks + ": threads take part all or not at all");
        }
        InterProcess interProcess = jvm.oncePerProcess.run(thread == 0, () -> {
            jvm.backendThread = BackendThread.start(jvm.between.communicationThread());
            return InterProcess.open(jvm.between, config, jvm.hub.size(), jvm.backendThread);
        });
        Bootstrap bootstrap = new HybridBootstrap(interProcess, jvm.hub, thread, jvm.oncePerProcess);
        return new Backend(
                new Backend.Description(jvm.between.name(), words(interProcess)),
                bootstrap,
                new RouterPlane(interProcess, jvm.hub, thread, jvm.oncePerProcess),
                new HybridPlanes(interProcess, jvm.hub, thread, bootstrap.topology()));
    }

    private static String words(InterProcess interProcess) {
        Grid grid = interProcess.grid();
        return "hybrid: " + grid.processes() + (grid.processes() == 1 ? " process x " : " processes x ")
                + grid.threads() + (grid.threads() == 1 ? " thread" : " threads") + " over "
                + interProcess.description();
    }

    /**
     * This rank will come to no meeting any more, so that the others of its JVM need not wait for it. Any thread may
     * call it.
     */
    public void giveUp(String why) {
        BackendThread backendThread = jvm.backendThread;
        jvm.hub.lose(thread, why);
        if (backendThread != null) {
            backendThread.giveUp(why);
        }
    }
}
