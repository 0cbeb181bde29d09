package io.hvd.faults;

import io.hvd.testing.Job;
import java.util.Map;

/** Settings with which no limit of hvd's ends a job before that of {@link Job} does: what ends has been noticed. */
final class NoLimits {
    static final Map<String, String> SETTINGS = Map.of(
            "HOROVOD_START_TIMEOUT", "1000",
            "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "0",
            "HVD_STANDSTILL_SECONDS", "0");

    private NoLimits() {}
}
