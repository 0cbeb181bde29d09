package io.hvd.launch.direct;

import io.hvd.launch.failure.ObservedFailure;
import io.hvd.launch.hosts.SshAccess;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;

/** A rank that was started: its process, or that of the ssh which runs it on another host. Any thread may use it. */
final class RankProcess {

    private static final byte[] NO_MORE = {};

    private final PlannedRank rank;
    private final Process process;
    /** The number that its process has on its host; comes when it has started there, and is empty if it never has. */
    private final CompletableFuture<String> pid = new CompletableFuture<>();

    private final BlockingQueue<byte[]> orders = new LinkedBlockingQueue<>();
    /** The named pipe there from which it reads; comes before the number if it does. */
    private volatile String input = "";

    RankProcess(PlannedRank rank, Process process) {
        this.rank = rank;
        this.process = process;
        if (rank.here()) {
            pid.complete(Long.toString(process.pid()));
        } else {
            var writer = new Thread(this::writeOrders, "hvd-launch-orders-" + rank.rank());
            writer.setDaemon(true);
            writer.start();
            process.onExit().thenRun(() -> {
                pid.complete("");
                endOrders();
            });
        }
    }

    PlannedRank rank() {
        return rank;
    }

    Process process() {
        return process;
    }

    /** To be called on each line of its standard output until one gives {@code true}: that is not the rank's own. */
    boolean hasStarted(String line) {
        if (!line.startsWith(RemoteRank.STARTED)) {
            return false;
        }
        String[] said = line.substring(RemoteRank.STARTED.length()).strip().split(" ", 2);
        input = said.length > 1 ? said[1] : "";
        return pid.complete(said[0]);
    }

    /** Hands over the named pipe there from which it reads, as soon as it is known. */
    void whenReading(Consumer<String> pipe) {
        pid.thenRun(() -> {
            if (!input.isEmpty()) {
                pipe.accept(input);
            }
        });
    }

    /** Completes when its process has started, or has ended. */
    CompletableFuture<?> started() {
        return pid;
    }

    /** Hands over an order, or what comes before it, and waits for nobody; of a rank that has ended nobody reads it. */
    void order(byte[] bytes) {
        orders.add(bytes);
    }

    /** Asks the script on another host to end the rank there: politely, and after a second by force. */
    void endOrders() {
        orders.add(NO_MORE);
    }

    /** On a thread of its own, since an ssh that does not reach its host reads nothing. */
    private void writeOrders() {
        try (OutputStream to = process.getOutputStream()) {
            for (byte[] order = orders.take(); order != NO_MORE; order = orders.take()) {
                to.write(order);
                to.flush();
            }
        } catch (IOException e) {
            return; // it has ended
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Ends a rank on this machine by force, with all processes that it has begun. */
    void kill() {
        if (process.isAlive()) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    /** Whether it has ended because ssh has not reached its host. */
    boolean wasNotReached() {
        return mayHaveLostItsHost() && pid.getNow("").isEmpty();
    }

    /** Whether it has ended as it would if ssh had lost its host, although a program may end with this exit code too. */
    boolean mayHaveLostItsHost() {
        return !rank.here() && process.exitValue() == SshAccess.NOT_REACHED;
    }

    /** How it has ended, in words. @param code not 0 */
    ObservedFailure failure(int code) {
        return failure(code, "rank");
    }

    /** The same for a process that may have another rank than its number. @param kind what it is called */
    ObservedFailure failure(int code, String kind) {
        String name = kind + " " + rank.rank() + " on " + rank.host();
        String number = pid.getNow("").isEmpty() ? "" : ", pid " + pid.getNow("");
        if (ObservedFailure.isSignal(code)) {
            String words = name + number + ", was ended by signal " + (code - ObservedFailure.SIGNAL_BASE);
            return new ObservedFailure(rank.rank(), rank.host(), code, words);
        }
        if (code == SshAccess.NOT_REACHED && !rank.here()) {
            String words = pid.getNow("").isEmpty()
                    ? "ssh has not started " + name + ", and its own words above say why"
                    : "ssh has lost the connection to " + rank.host() + ", where " + kind + " " + rank.rank()
                            + " ran, or" + " it ended with exit code " + code + ", which is ssh's own too";
            return new ObservedFailure(rank.rank(), rank.host(), code, words);
        }
        return new ObservedFailure(rank.rank(), rank.host(), code, name + number + ", ended with exit code " + code);
    }
}
