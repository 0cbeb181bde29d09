package io.hvd.config;

import java.nio.file.Path;

/**
 * What hvd does to explain a job that goes wrong.
 *
 * @param maxBufferBytes of host memory that hvd may have in this process; 0 for any number
 * @param bufferSites whether the place of each buffer's allocation is kept
 * @param flightRecorderCalls remembered on each rank
 * @param divergenceSteps between two comparisons of the ranks' parameters; 0 for none
 * @param refuseNonFinite whether steps by gradients that are not finite are refused
 * @param uncaughtHandler whether a thread that ends by an exception ends the job
 * @param showRanks whether every rank says at init where it runs
 * @param reportFolder where the report of a hang goes
 * @param ncclRas whether NCCL's RAS is asked for the report of a hang
 * @param statusPage whether the rank tells hvd-top what it is doing
 */
record DebugSettings(
        long maxBufferBytes,
        boolean bufferSites,
        int flightRecorderCalls,
        int divergenceSteps,
        boolean refuseNonFinite,
        boolean uncaughtHandler,
        boolean showRanks,
        Path reportFolder,
        boolean ncclRas,
        boolean statusPage) {
    private static final int MOST_CALLS = 1_000_000;

    static DebugSettings from(SettingReader reader) {
        return new DebugSettings(
                reader.atLeast(Setting.MAX_BUFFER_BYTES, 0),
                reader.flag(Setting.BUFFER_SITES),
                reader.between(Setting.FLIGHT_RECORDER, 0, MOST_CALLS),
                reader.between(Setting.DIVERGENCE_STEPS, 0, Integer.MAX_VALUE),
                reader.flag(Setting.REFUSE_NON_FINITE),
                reader.flag(Setting.UNCAUGHT_HANDLER),
                reader.flag(Setting.SHOW_RANKS),
                Path.of(reader.value(Setting.REPORT_DIR)),
                reader.flag(Setting.NCCL_RAS),
                reader.flag(Setting.STATUS_PAGE));
    }

    DebugSettings withoutUncaughtHandler() {
        return new DebugSettings(
                maxBufferBytes,
                bufferSites,
                flightRecorderCalls,
                divergenceSteps,
                refuseNonFinite,
                false,
                showRanks,
                reportFolder,
                ncclRas,
                statusPage);
    }
}
