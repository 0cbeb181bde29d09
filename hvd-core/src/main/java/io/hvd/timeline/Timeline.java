package io.hvd.timeline;

import io.hvd.config.TimelineSettings;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.spi.Backend;
import io.hvd.spi.ControlChannel;
import io.hvd.trace.FlightRecorder;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A rank's part of the timeline of all ranks. It has a thread and a control channel of its own,
 * so that its messages do not delay the engine's. While no timeline is being written, the
 * thread sleeps.
 */
public final class Timeline {
    private static final HvdLogger LOG = HvdLogger.of(Timeline.class);
    private static final long TURN_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** The limit for the end of a timeline, which is longer than rank 0 waits for the other ranks' last events. */
    private static final long END_SECONDS = 10;

    private final FlightRecorder recorder;
    private final ControlChannel channel;
    private final boolean dynamic;
    private final TimelineRole part;
    private final Queue<Runnable> orders = new ConcurrentLinkedQueue<>();
    private final CompletableFuture<Void> over = new CompletableFuture<>();
    private int session;
    /** The events of this rank; null while no timeline is being written. */
    private EventBuffer events;
    /** Adds the garbage collector's pauses to them; null while no timeline is being written. */
    private CollectorPauses pauses;
    /** Whether the timeline has ended for good; only the timeline's own thread uses this. */
    private boolean ended;

    private Timeline(Backend backend, FlightRecorder recorder, boolean dynamic) {
        this.recorder = recorder;
        this.dynamic = dynamic;
        this.channel = backend.openChannel();
        int rank = backend.topology().rank();
        this.part = rank == 0
                ? new EventCollector(channel, backend.topology().hosts())
                : new EventReporter(channel, System::nanoTime);
        Thread thread = new Thread(this::run, "hvd-timeline-" + rank);
        thread.setDaemon(true);
        thread.start();
    }

    /**
     * Gets ready if rank 0's settings ask for it, and starts the timeline at once if they name a file. All
     * ranks call it together, on the communication thread, before the first operation.
     */
    public static Optional<Timeline> open(Backend backend, FlightRecorder recorder, TimelineSettings settings) {
        byte[] mine = TimelineRequest.by(settings).encode();
        TimelineRequest request = TimelineRequest.decode(backend.exchange(mine).get(0));
        if (!request.atOnce() && !request.dynamic()) {
            return Optional.empty();
        }
        Timeline timeline = new Timeline(backend, recorder, request.dynamic());
        if (request.atOnce()) {
            timeline.begin(settings.file().orElse(Path.of("")), request.markCycles());
            timeline.listen();
        }
        return Optional.of(timeline);
    }

    /** Whether the program may start and end it. */
    public boolean isDynamic() {
        return dynamic;
    }

    /**
     * Gets ready for a new timeline, with its file on rank 0. {@link #listen} follows on every rank when
     * rank 0 has come back from here.
     *
     * @param path the file's path; rank 0's counts
     * @throws HvdException if a timeline is being written already
     */
    public synchronized void begin(Path path, boolean markCycles) {
        if (events != null) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "startTimeline(" + path + "): a timeline is being written already; stopTimeline() ends it");
        }
        EventBuffer fresh = new EventBuffer(markCycles);
        events = fresh;
        int number = ++session;
        CompletableFuture<Void> begun = new CompletableFuture<>();
        order(() -> {
            part.begin(number, path, fresh);
            begun.complete(null);
        });
        await(begun);
    }

    /** Records all events on this rank from now on. */
    public synchronized void listen() {
        recorder.listen(events);
        pauses = CollectorPauses.into(events);
    }

    /**
     * Ends the timeline, if one is being written; every rank calls it. It returns on rank 0 when the file is
     * complete and the verdict printed, and on the other ranks when their last events have been sent.
     */
    public synchronized void end() {
        if (events == null) {
            return;
        }
        recorder.listen(null);
        events = null;
        if (pauses != null) {
            pauses.close();
            pauses = null;
        }
        CompletableFuture<Void> done = new CompletableFuture<>();
        order(() -> part.end(done));
        await(done);
    }

    /** Ends the timeline for good, while the other ranks can still be reached. */
    public void close() {
        end();
        leave(() -> {});
        await(over);
    }

    /**
     * Ends the timeline of a job that cannot go on: writes the events that are there, and waits for no rank. Any thread
     * may call it.
     */
    public void fail(String why) {
        recorder.listen(null);
        leave(() -> part.fail(why));
    }

    private void leave(Runnable last) {
        order(() -> {
            last.run();
            ended = true;
        });
    }

    private void order(Runnable order) {
        orders.add(order);
        channel.wakeUp();
    }

    /** Goes on where this thread is interrupted, because the other ranks do too. */
    private void await(CompletableFuture<Void> order) {
        boolean interrupted = Thread.interrupted();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(END_SECONDS);
        boolean waits = true;
        while (waits) {
            try {
                CompletableFuture.anyOf(order, over).get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                waits = false;
            } catch (TimeoutException | ExecutionException e) {
                LOG.error("the timeline did not end in order: {}", e.toString());
                waits = false;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        try {
            while (!ended) {
                for (Runnable order = orders.poll(); order != null; order = orders.poll()) {
                    order.run();
                }
                part.turn();
                if (!ended) {
                    channel.receive(part.isBusy() ? TURN_NANOS : Long.MAX_VALUE, part);
                }
            }
        } catch (RuntimeException e) {
            recorder.listen(null);
            LOG.error("the timeline has ended early, the training goes on without it", e);
        } finally {
            over.complete(null);
        }
    }
}
