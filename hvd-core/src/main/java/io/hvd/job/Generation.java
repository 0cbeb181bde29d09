package io.hvd.job;

import io.hvd.engine.Engine;
import io.hvd.monitor.Monitor;
import io.hvd.spi.Backend;
import io.hvd.spi.Topology;

/**
 * One job of a rank, from joining to leaving. The same ranks, or some of them, may form the next one.
 *
 * @param number higher than those of the jobs that any of these ranks was in before
 * @param backend connects the ranks
 * @param engine carries out their operations
 * @param monitor watches their processes
 */
record Generation(int number, Backend backend, Engine engine, Monitor monitor) {
    Topology topology() {
        return backend.topology();
    }
}
