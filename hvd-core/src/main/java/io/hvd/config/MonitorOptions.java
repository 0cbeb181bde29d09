package io.hvd.config;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * The means to explain a job that hangs.
 *
 * @param stall when the ranks that others wait for are named, and when waiting ends
 * @param flightRecorderCalls the calls remembered on each rank
 * @param reportFolder where the report of a hang goes
 * @param ncclRas whether NCCL's RAS is asked for the report
 * @param statusPage whether the rank tells hvd-top what it is doing
 */
public record MonitorOptions(
        StallSettings stall, int flightRecorderCalls, Path reportFolder, boolean ncclRas, boolean statusPage) {
    private static final int MOST_CALLS = 1_000_000;

    static MonitorOptions from(SettingReader reader, List<String> notes) {
        return new MonitorOptions(
                StallSettings.from(reader, notes),
                reader.between(Setting.FLIGHT_RECORDER, 0, MOST_CALLS),
                Path.of(reader.value(Setting.REPORT_DIR)),
                reader.flag(Setting.NCCL_RAS),
                reader.flag(Setting.STATUS_PAGE));
    }

    MonitorOptions withStallTimeout(Duration time) {
        return new MonitorOptions(stall.withShutdown(time), flightRecorderCalls, reportFolder, ncclRas, statusPage);
    }
}
