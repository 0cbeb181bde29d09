package io.hvd.launch.process;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * An mpirun that was started and its ranks on this machine, as far as they are to be ended.
 *
 * <p>mpirun must be told to end only once: it leaves at once on a second signal, and its ranks stay behind. In the foreground
 * of a terminal it gets Ctrl-C from there, so the launcher waits before it adds a signal of its own.
 *
 * @param folder the folder of the job's failure records, by which its processes are told from others
 * @param environment mpirun's
 */
record MpirunFamily(Process mpirun, Path folder, Map<String, String> environment) {

    /** mpirun itself gives its ranks one second between SIGTERM and SIGKILL. */
    private static final long GRACE_SECONDS = 10;

    /** After a Ctrl-C mpirun is gone within that second and the time to notice. */
    private static final long TERMINAL_GRACE_SECONDS = 3;

    /** Ranks that live longer than this after mpirun's end are not just ending; a large process takes a while. */
    private static final long ORPHAN_MILLIS = 1_000;

    /** The time between asking ranks to end and killing them; mpirun leaves its ranks as much. */
    private static final long RANK_GRACE_MILLIS = 1_000;

    /** The time that the system needs for the end of a process that was killed. */
    private static final long KILLED_MILLIS = 2_000;

    /** A process that is killed may just have begun a child. */
    private static final int MOST_LOOKS = 3;

    /** Ends mpirun and its ranks: politely, then by force. Returns when they are gone. */
    void end() {
        if (mpirun.isAlive()) {
            endMpirun();
        }
        endRanks();
    }

    /** Ends mpirun by force. */
    void kill() {
        Leftovers leftovers = leftovers(List.of());
        mpirun.destroyForcibly();
        endsWithin(GRACE_SECONDS);
        leftovers.delete();
    }

    /** The ranks that have outlived mpirun. */
    Orphans orphans() {
        List<ProcessHandle> ranks = JobProcesses.living(folder);
        return new Orphans(ranks, leftovers(ranks));
    }

    /** Ranks without mpirun, and the files that are theirs. */
    record Orphans(List<ProcessHandle> ranks, Leftovers leftovers) {

        /** Whether they were just ending. */
        boolean endByThemselves() throws InterruptedException {
            return JobProcesses.endedWithin(ranks, ORPHAN_MILLIS);
        }

        void end() throws InterruptedException {
            ranks.forEach(ProcessHandle::destroy);
            JobProcesses.endedWithin(ranks, RANK_GRACE_MILLIS);
            kill();
        }

        private void kill() throws InterruptedException {
            ranks.forEach(ProcessHandle::destroyForcibly);
            JobProcesses.endedWithin(ranks, KILLED_MILLIS);
            leftovers.delete();
        }
    }

    private void endMpirun() {
        List<ProcessHandle> family = mpirun.descendants().toList();
        Leftovers leftovers = leftovers(family);
        boolean ended = Terminal.isForeground() && endsWithin(TERMINAL_GRACE_SECONDS);
        if (!ended) {
            mpirun.destroy();
            ended = endsWithin(GRACE_SECONDS);
        }
        if (!ended) {
            mpirun.destroyForcibly();
        }
        family.forEach(ProcessHandle::destroyForcibly);
        leftovers.delete();
    }

    /** Ends the ranks that mpirun has started since its family was looked at, or has left behind, and the ones that are just ending. */
    private void endRanks() {
        try {
            for (int look = 0; look < MOST_LOOKS; look++) {
                Orphans left = orphans();
                if (left.ranks().isEmpty()) {
                    return;
                }
                left.kill();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Leftovers leftovers(List<ProcessHandle> family) {
        return new Leftovers(mpirun.toHandle(), family, environment);
    }

    private boolean endsWithin(long seconds) {
        try {
            return mpirun.waitFor(seconds, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
