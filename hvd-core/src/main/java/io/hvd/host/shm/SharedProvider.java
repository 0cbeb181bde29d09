package io.hvd.host.shm;

import io.hvd.config.HvdConfig;
import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Executor;

/** Shared memory inside a host, over another back end that does everything else. */
public final class SharedProvider implements BackendProvider {
    private static final Path FOLDER = Path.of("/dev/shm");

    private final BackendProvider beneath;
    private final Path folder;

    public SharedProvider(BackendProvider beneath) {
        this(beneath, FOLDER);
    }

    SharedProvider(BackendProvider beneath, Path folder) {
        this.beneath = beneath;
        this.folder = folder;
    }

    @Override
    public String name() {
        return beneath.name();
    }

    @Override
    public Executor communicationThread() {
        return beneath.communicationThread();
    }

    @Override
    public Backend open(HvdConfig config, List<Integer> ranks) {
        Backend opened = beneath.open(config, ranks);
        return config.memory().shared() ? new SharedBackend(opened, new SharedPlanes(opened, folder)) : opened;
    }

    @Override
    public boolean meet() {
        return beneath.meet();
    }

    @Override
    public boolean leave(boolean well, boolean waits, Duration limit) {
        return beneath.leave(well, waits, limit);
    }

    @Override
    public void finish() {
        beneath.finish();
    }
}
