package io.hvd.trace;

import java.util.Collection;
import java.util.List;

/**
 * Writes what happens on a rank into the recordings of JDK Flight Recorder, if there are any. Without one it makes no object
 * and reads no clock. Any thread may use it.
 */
final class JfrEvents {
    /** Null until the process has its first recording: the JVM prepares such classes for a tenth of a second. */
    private volatile Kinds kinds;

    private volatile FlightRecorder.Job job = new FlightRecorder.Job(0, 1, "", "", "");
    private volatile boolean jobIsTold;
    /** The step that has begun; only the thread that trains uses it. */
    private StepEvent step;

    /** To ask one of these events whether its kind is recorded costs no object. */
    private record Kinds(CollectiveEvent collective, StepEvent step, JobEvent job) {}

    /** Null while there has been no recording. */
    private Kinds kinds() {
        Kinds known = kinds;
        if (known == null && jdk.jfr.FlightRecorder.isInitialized()) {
            known = new Kinds(new CollectiveEvent(), new StepEvent(), new JobEvent());
            kinds = known;
        }
        return known;
    }

    /** Whether collectives are recorded. */
    boolean hasCollectives() {
        Kinds known = kinds();
        return known != null && known.collective.isEnabled();
    }

    private boolean hasSteps() {
        Kinds known = kinds();
        return known != null && known.step.isEnabled();
    }

    private boolean hasJobs() {
        Kinds known = kinds();
        return known != null && known.job.isEnabled();
    }

    void joined(FlightRecorder.Job joined) {
        job = joined;
        jobIsTold = false;
        tellJob();
    }

    /** Tells of the job once: a recording may begin long after the rank has joined. */
    private void tellJob() {
        if (!jobIsTold && hasJobs()) {
            jobIsTold = true;
            JobEvent event = new JobEvent();
            event.rank = job.rank();
            event.size = job.size();
            event.host = job.host();
            event.backend = job.backend();
            event.settings = job.settings();
            event.commit();
        }
    }

    /** The program has made these calls; the data plane does not know them yet. */
    void submitted(List<? extends Recorded> together) {
        if (!hasCollectives()) {
            return;
        }
        tellJob();
        for (int i = 0; i < together.size(); i++) {
            Recorded one = together.get(i);
            one.call().event = CollectiveEvent.of(job.rank(), one.call(), one.bytes());
        }
    }

    void announced(Call call, boolean negotiated) {
        CollectiveEvent event = call.event;
        if (event != null) {
            event.negotiated = negotiated;
        }
    }

    void entered(Call call, Call batch) {
        CollectiveEvent event = call.event;
        if (event != null) {
            event.started(call, batch, System.nanoTime());
        }
    }

    void ended(Call call) {
        CollectiveEvent event = call.event;
        if (event != null) {
            call.event = null;
            event.ended(call);
        }
    }

    /** The program has ended its step of this number. */
    void stepped(long number) {
        if (!hasSteps()) {
            step = null;
            return;
        }
        if (step != null) {
            step.rank = job.rank();
            step.number = number;
            step.commit();
        }
        step = new StepEvent();
        step.begin();
    }

    void stalled(String collective, Collection<Integer> waiting, Collection<Integer> missing, long millis) {
        if (kinds() == null) {
            return;
        }
        StallEvent event = new StallEvent();
        event.rank = job.rank();
        event.collective = collective;
        event.waiting = waiting.toString();
        event.missing = missing.toString();
        event.waited = millis;
        event.commit();
    }
}
