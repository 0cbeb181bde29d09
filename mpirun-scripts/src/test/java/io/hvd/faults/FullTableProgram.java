package io.hvd.faults;

import io.hvd.Hvd;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.io.FileInputStream;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.locks.LockSupport;

/**
 * A rank whose table of file descriptors is full joins again after a shutdown: MPI is up by then, so what
 * fails is what hvd opens itself. A thread that never ends would keep every process in the job. To be
 * started with a low {@code ulimit -n}.
 */
public final class FullTableProgram {
    private static final int MOST = 100_000;
    private static final long QUIET_NANOS = 300_000_000;

    private FullTableProgram() {}

    /** The culprit's rank, and how many descriptors it leaves free. */
    public static void main(String[] args) {
        int rank = Hvd.init().rank();
        Hvd.shutdown();
        // Loads the classes that speak of a failure; this process could not read them any more.
        new HvdException(ErrorId.INIT_FAILED, "not thrown").getMessage();
        new Thread(LockSupport::park, "left-over").start();
        Deque<FileInputStream> taken = new ArrayDeque<>();
        if (rank == Integer.parseInt(args[0])) {
            takeAllBut(Integer.parseInt(args[1]), taken);
        }
        try {
            Hvd.init().close();
            System.exit(0);
        } catch (HvdException e) {
            System.out.println("RANK " + rank + " THREW " + e.getMessage() + " BECAUSE OF " + e.getCause());
            throw e;
        }
    }

    /** Takes what is closed meanwhile as well: by threads of the job that has just ended, and by the collector. */
    private static void takeAllBut(int free, Deque<FileInputStream> taken) {
        awaitRehearsal();
        System.gc();
        int before;
        do {
            before = taken.size();
            takeAll(taken);
            LockSupport.parkNanos(QUIET_NANOS);
        } while (taken.size() > before);
        for (int i = 0; i < free; i++) {
            close(taken.remove());
        }
    }

    /** On a busy machine it comes so late that it would open its files, and load its classes, with none left. */
    private static void awaitRehearsal() {
        while (Thread.getAllStackTraces().keySet().stream()
                .anyMatch(thread -> thread.getName().equals("hvd-guard-rehearsal"))) {
            LockSupport.parkNanos(QUIET_NANOS);
        }
    }

    private static void takeAll(Deque<FileInputStream> taken) {
        try {
            while (taken.size() < MOST) {
                taken.add(new FileInputStream("/dev/null"));
            }
            throw new IllegalStateException("there is no low limit of file descriptors");
        } catch (IOException full) {
            // as it should be
        }
    }

    private static void close(FileInputStream one) {
        try {
            one.close();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
