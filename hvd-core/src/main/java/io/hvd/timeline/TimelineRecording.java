package io.hvd.timeline;

import io.hvd.log.HvdLogger;
import io.hvd.timeline.StepSplit.Step;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;

/** One timeline on rank 0, from its start to its verdict. If the file cannot be written, it goes on for the verdict. */
final class TimelineRecording {
    private static final HvdLogger LOG = HvdLogger.of(TimelineRecording.class);

    private final Path path;
    private final TraceRendering rendering;
    private final StepSplit split;
    private final StepSummary verdict;
    /** The file; null if it could not be opened or written. */
    private TimelineFile file;

    /** @param hosts the ranks' hosts, by rank */
    TimelineRecording(Path path, List<String> hosts) {
        this.path = path;
        this.rendering = new TraceRendering(System.nanoTime(), hosts);
        this.split = new StepSplit(hosts.size());
        this.verdict = new StepSummary(hosts.size());
        long epochMicros = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
        try {
            file = TimelineFile.create(path, TraceRendering.start(epochMicros, hosts.size()));
        } catch (IOException e) {
            giveUp(e);
        }
    }

    /** Adds the events of a rank, in rank 0's time. */
    void add(int rank, List<TimelineEvent> events) {
        rendering.add(rank, events);
        split.add(rank, events).forEach(this::add);
        write(rendering.take());
    }

    /**
     * Writes the remaining events.
     *
     * @param remarks further lines that the reader should know
     * @return the verdict, line by line
     */
    List<String> end(List<String> remarks) {
        split.rest().forEach(this::add);
        return breakOff(remarks);
    }

    /** Ends a recording of which not all ranks have been heard: only the steps that all of them have reported count. */
    List<String> breakOff(List<String> remarks) {
        List<String> lines = new ArrayList<>(verdict.lines());
        lines.addAll(remarks);
        List<String> last = new ArrayList<>(rendering.take());
        lines.forEach(line -> last.add(TraceRendering.note("verdict", line)));
        write(last);
        close();
        return lines;
    }

    private void add(Step step) {
        verdict.add(step);
        rendering.add(step);
    }

    private void write(List<String> events) {
        if (file == null) {
            return;
        }
        try {
            file.append(events);
        } catch (IOException e) {
            giveUp(e);
        }
    }

    private void close() {
        if (file == null) {
            return;
        }
        try {
            file.close();
        } catch (IOException e) {
            giveUp(e);
        }
    }

    private void giveUp(IOException cause) {
        file = null;
        LOG.error("the timeline {} cannot be written, the training goes on without it: {}", path, cause.toString());
    }
}
