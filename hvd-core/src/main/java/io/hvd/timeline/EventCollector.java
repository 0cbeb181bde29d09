package io.hvd.timeline;

import io.hvd.spi.ControlChannel;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

/** The role of rank 0: it tells the other ranks its time, collects the events of all ranks, and prints the verdict. */
final class EventCollector implements TimelineRole {
    private static final long LATE_NANOS = TimeUnit.SECONDS.toNanos(5);

    private final ControlChannel channel;
    private final List<String> hosts;
    private final Set<Integer> missing = new TreeSet<>();
    private final Set<Integer> gone = new TreeSet<>();
    private EventBuffer events = new EventBuffer(false);
    private TimelineRecording recording;
    private Path file;
    private int session;
    private long dropped;
    private CompletableFuture<Void> done;
    private long deadline;

    /** @param hosts the ranks' hosts, by rank */
    EventCollector(ControlChannel channel, List<String> hosts) {
        this.channel = channel;
        this.hosts = hosts;
    }

    @Override
    public void begin(int number, Path path, EventBuffer from) {
        session = number;
        file = path;
        events = from;
        dropped = 0;
        missing.clear();
        missing.addAll(IntStream.range(1, hosts.size()).boxed().toList());
        missing.removeAll(gone);
        recording = new TimelineRecording(path, hosts);
    }

    @Override
    public void end(CompletableFuture<Void> told) {
        done = told;
        deadline = System.nanoTime() + LATE_NANOS;
    }

    @Override
    public boolean isBusy() {
        return recording != null || done != null;
    }

    @Override
    public void turn() {
        if (recording != null) {
            recording.add(0, events.drain());
        }
        if (done == null) {
            return;
        }
        if (recording != null && (missing.isEmpty() || System.nanoTime() - deadline > 0)) {
            String late = "the last events of ranks " + missing + " did not arrive";
            speak(recording.end(remarks(missing.isEmpty() ? List.of() : List.of(late))));
        }
        if (recording == null) {
            done.complete(null);
            done = null;
        }
    }

    private List<String> remarks(List<String> known) {
        List<String> all = new ArrayList<>(known);
        dropped += events.dropped();
        if (dropped > 0) {
            all.add(dropped + " events came faster than they could be written and are missing");
        }
        return all;
    }

    private void speak(List<String> verdict) {
        recording = null;
        System.err.println("hvd timeline " + file + ": " + String.join(System.lineSeparator() + "  ", verdict));
    }

    @Override
    public void message(int fromRank, ByteBuffer bytes) {
        long heard = System.nanoTime();
        TimelineMessage message = TimelineMessage.decode(bytes);
        if (message instanceof TimelineMessage.Ping ping) {
            channel.send(fromRank, new TimelineMessage.Pong(ping.sent(), heard, System.nanoTime()).encode());
        } else if (message instanceof TimelineMessage.Events batch && batch.session() == session && recording != null) {
            recording.add(fromRank, batch.events());
        } else if (message instanceof TimelineMessage.End end && end.session() == session) {
            dropped += end.dropped();
            missing.remove(fromRank);
        }
    }

    @Override
    public void lost(int rank, String why) {
        gone.add(rank);
        missing.remove(rank);
    }

    @Override
    public void fail(String why) {
        if (recording != null) {
            recording.add(0, events.drain());
            speak(recording.breakOff(remarks(List.of("the job could not go on: " + why))));
        }
    }
}
