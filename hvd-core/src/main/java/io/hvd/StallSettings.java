package io.hvd;

import io.hvd.monitor.MonitorSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/** TO BE REPLACED by fields of HvdConfig: the one place that reads the monitor's settings from the environment. */
final class StallSettings {
    private StallSettings() {}

    static MonitorSettings from(Map<String, String> environment) {
        MonitorSettings standard = MonitorSettings.standard();
        boolean disabled =
                environment.getOrDefault("HOROVOD_STALL_CHECK_DISABLE", "0").equals("1");
        return new MonitorSettings(
                disabled ? Duration.ZERO : seconds(environment, "HOROVOD_STALL_CHECK_TIME_SECONDS", standard.warning()),
                seconds(environment, "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", standard.limit()),
                Path.of(environment.getOrDefault("HVD_HANG_DIR", "")));
    }

    private static Duration seconds(Map<String, String> environment, String name, Duration otherwise) {
        String value = environment.get(name);
        return value == null ? otherwise : Duration.ofSeconds(Long.parseLong(value.strip()));
    }
}
