package io.hvd.job.failure;

import io.hvd.config.HvdConfig;
import io.hvd.error.FailureRecord;
import io.hvd.error.SuccessMarker;
import io.hvd.net.HostAddress;
import io.hvd.net.LauncherAddress;
import io.hvd.spi.Topology;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/** Says on stderr, and to the launcher if there is one, what went wrong on this rank. */
public final class FailureReport {
    private static final long POLL_MILLIS = 10;
    private static final long PRINT_MILLIS = 100;
    /** Time for the other ranks of a host that does not see the folder to send their records. */
    private static final long SEND_MILLIS = 300;

    private static final int NOT_NUMBERED = -1;

    private final HvdConfig config;
    private final AtomicBoolean begun = new AtomicBoolean();
    private final CountDownLatch said = new CountDownLatch(1);
    private volatile String who = "this rank";
    private volatile int rank;
    /** Empty until it is known. */
    private volatile String host = "";

    public FailureReport(HvdConfig config) {
        this.config = config;
        this.rank = config.started().rank().orElse(NOT_NUMBERED);
    }

    /** Uses the rank of the job in further reports; until this call, they use the rank that the launcher gave. */
    public void speakFor(Topology topology) {
        rank = topology.rank();
        host = topology.host();
        who = "rank " + topology.rank() + " of " + topology.size() + " on " + topology.host();
    }

    /** Which rank of how many, and where. */
    String name() {
        return who;
    }

    /** The failure in one sentence, with its place. */
    String sentence(String why) {
        return who + ": " + why;
    }

    /**
     * This rank's own failure.
     *
     * @param excerpt lines of the stack for the launcher's screen
     * @param stack all of it, for this rank's standard error
     */
    void failure(String why, String thread, String excerpt, String stack, int exitCode) {
        begun.set(true);
        leaveRecord(why, thread, excerpt, false, exitCode);
        print(why, stack);
        said.countDown();
    }

    /** Prints a failure that has been recorded already. */
    void print(String why, String stack) {
        String head = "hvd: FAILED: " + sentence(why);
        print(stack.isEmpty() ? head : head + System.lineSeparator() + stack);
    }

    /** A failure, for the launcher; the program is yet to say something, or to go on. */
    void recordOnly(String why, String thread, String stack, boolean consequence) {
        leaveRecord(why, thread, stack, consequence, FailureRecord.UNKNOWN);
    }

    /** Records that the program ends itself, for a reason that no stack explains. */
    public void recordOnly(String why, int exitCode) {
        leaveRecord(why, Thread.currentThread().getName(), "", false, exitCode);
    }

    /** Another rank has failed first. Said once, and not after a failure of this rank's own. */
    void consequence(String why, String thread) {
        if (begun.compareAndSet(false, true)) {
            leaveRecord(why, thread, "", true, FailureRecord.UNKNOWN);
            print("hvd: consequence on " + sentence(why));
            said.countDown();
        }
    }

    /**
     * Tells the launcher whose this process is. It does once what a failure takes, so that its classes are loaded: that takes
     * seventy times as long as a record itself, which is more than a busy machine gives a survivor before mpirun ends it.
     */
    void announce() {
        try {
            hand(record("nothing has failed", "", "", true, FailureRecord.UNKNOWN), FailureRecord.STARTED);
        } catch (IOException | IllegalArgumentException e) {
            // the launcher has not answered, or the folder was deleted with its job; a failure is reported later
        }
    }

    /** Leaves a record for the launcher only, since the failure is already on stderr. */
    void quietly(String why, String thread, boolean consequence) {
        begun.set(true);
        leaveRecord(why, thread, "", consequence, FailureRecord.UNKNOWN);
        said.countDown();
    }

    /** Waits until this rank has said and recorded something; false if it has not in time. */
    boolean awaitSaid(long limitMillis) throws InterruptedException {
        return said.await(limitMillis, TimeUnit.MILLISECONDS);
    }

    /**
     * Waits until other ranks of this host have left their records; where there is no folder for
     * them, a moment in which they can print.
     *
     * @param others asked for again and again, because ranks may end meanwhile
     * @return false if some have not in time
     */
    boolean awaitRecords(Supplier<List<Integer>> others, long limitMillis) throws InterruptedException {
        Optional<Path> folder = folder();
        if (folder.isEmpty()) {
            Thread.sleep(config.launcher().address().isPresent() ? SEND_MILLIS : PRINT_MILLIS);
            return true;
        }
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMillis);
        boolean complete = FailureRecord.ranksIn(folder.get()).containsAll(others.get());
        while (!complete && System.nanoTime() < deadline) {
            Thread.sleep(POLL_MILLIS);
            complete = FailureRecord.ranksIn(folder.get()).containsAll(others.get());
        }
        return complete;
    }

    /** Tells the launcher only that the processes of all ranks end well, although MPI has not been finalized. */
    void goodEnd() {
        try {
            if (folder().isPresent()) {
                SuccessMarker.leave(folder().get());
            }
        } catch (IOException e) {
            System.err.println("hvd: the launcher could not be told that all ranks end well: " + e);
        }
    }

    private Optional<Path> folder() {
        return config.launcher().failureDirectory().filter(Files::isDirectory);
    }

    private static void print(String text) {
        OutputLines.lastWords();
        System.err.println(text);
        System.err.flush();
    }

    private void leaveRecord(String why, String thread, String stack, boolean consequence, int exitCode) {
        try {
            hand(record(why, thread, stack, consequence, exitCode), FailureRecord.FAILURE);
        } catch (IOException | IllegalArgumentException | LinkageError e) {
            // Without a free file descriptor not even the record's class may be readable.
            System.err.println("hvd: the failure record could not be left for the launcher: " + e);
        }
    }

    /** The launcher's folder does not exist on another host; from there the record is sent. */
    private void hand(FailureRecord record, String as) throws IOException {
        Optional<Path> folder = folder();
        Optional<String> address = config.launcher().address();
        if (folder.isPresent()) {
            record.write(folder.get(), as);
        } else if (address.isPresent()) {
            byte[] content = record.encode().getBytes(StandardCharsets.UTF_8);
            LauncherAddress.decode(address.get())
                    .send(as, content, config.control().encryption());
        }
    }

    private FailureRecord record(String why, String thread, String stack, boolean consequence, int exitCode) {
        String where = host.isEmpty() ? HostAddress.localName() : host;
        long pid = ProcessHandle.current().pid();
        return new FailureRecord(Instant.now(), rank, where, pid, thread, why, stack, consequence, exitCode);
    }
}
