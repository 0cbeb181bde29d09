package io.hvd.job.failure;

import io.hvd.config.HvdConfig;
import io.hvd.log.HvdLogger;
import io.hvd.monitor.view.HangReport;
import io.hvd.spi.Topology;
import java.util.function.Consumer;

/**
 * Leaves a failure to the program: every call that waits for another rank throws it, and so does every later one. The
 * process goes on, with no handler and no hook of hvd's.
 */
public final class ThrowToProgram implements FailureHandler {
    private static final HvdLogger LOG = HvdLogger.of(ThrowToProgram.class);
    /** Longer than a rank's engine needs to tell the others, unless it is held up in the data plane. */
    private static final long TELL_MILLIS = 300;

    private final Consumer<HangReport> onHang;
    private final boolean tellsOthers;

    private ThrowToProgram(Consumer<HangReport> onHang, boolean tellsOthers) {
        this.onHang = onHang;
        this.tellsOthers = tellsOthers;
    }

    /** For a rank that is a process, whose failure the others do not see by themselves. */
    public static ThrowToProgram ofProcess() {
        return new ThrowToProgram(hang -> {}, true);
    }

    /**
     * For ranks that are threads, which see it when one of them gives up.
     *
     * @param onHang hears of a hang before the rank's calls throw
     */
    public static ThrowToProgram ofThreads(Consumer<HangReport> onHang) {
        return new ThrowToProgram(onHang, false);
    }

    @Override
    public void notJoined(HvdConfig config, Throwable cause) {
        // The program has the exception.
    }

    @Override
    public void placed(Topology topology) {
        // There is nothing to be told of later.
    }

    @Override
    public void joined(JobMember member) {
        // Nothing watches the process.
    }

    @Override
    public boolean goesOn() {
        return true;
    }

    /** The communication thread itself may call this, so that another one tells the other ranks. */
    @Override
    public void failed(JobMember member, String why) {
        member.abandon(why);
        if (tellsOthers) {
            JobAbort.daemon(() -> member.fail(why, TELL_MILLIS), "hvd-failure").start();
        }
    }

    @Override
    public void hangFound(JobMember member, HangReport hang) {
        // All ranks are told of it.
    }

    /** Called for all ranks, in any order. */
    @Override
    public void hung(JobMember member, HangReport hang) {
        onHang.accept(hang);
        failed(member, "the job hangs: " + hang.verdict());
    }

    @Override
    public void heldUp(JobMember member, long millis) {
        LOG.warn(
                "MPI_Finalize has not returned within {} s although every rank has called it; rank {} goes on without it",
                millis / 1_000,
                member.topology().rank());
    }
}
