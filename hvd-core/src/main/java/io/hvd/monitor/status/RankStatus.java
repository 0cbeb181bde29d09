package io.hvd.monitor.status;

import io.hvd.file.JsonObject;
import io.hvd.monitor.view.Activity;
import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.RankProcess;
import io.hvd.trace.FlightRecorder;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The report of a rank about itself for hvd-top. Only the monitor's thread uses it.
 *
 * <p>Times are those of {@link System#nanoTime()}, which is one clock for all processes of a host.
 */
public final class RankStatus {
    /** The time over which rates are averaged. */
    private static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** More calls would make no difference to what hvd-top shows. */
    private static final int MOST_CALLS = 8;

    /** A set whose ranks take more is told by the first of them. */
    private static final int LONGEST_TEXT = 200;

    private final FlightRecorder recorder;
    private final String job;
    private final List<RankProcess> members;
    private final int rank;
    private final Deque<Sample> samples = new ArrayDeque<>();

    private record Sample(long nanos, long steps, long calls) {}

    /** @param job which tells it from all others of the host */
    public RankStatus(FlightRecorder recorder, String job, List<RankProcess> members, int rank) {
        this.recorder = recorder;
        this.job = job;
        this.members = members;
        this.rank = rank;
    }

    /** @param own what the rank is doing at {@code nanos} */
    public String json(Activity own, long nanos) {
        Sample now = new Sample(
                nanos, recorder.steps(), recorder.calls() - own.pending().size());
        Sample before = earliest(now);
        Runtime jvm = Runtime.getRuntime();
        JsonObject page = JsonObject.withTextsUpTo(LONGEST_TEXT)
                .put("job", job)
                .put("program", program(System.getProperty("sun.java.command", "")))
                .put("rank", rank)
                .put("size", members.size())
                .put("host", members.get(rank).host())
                .put("local", local())
                .put("nanos", nanos)
                .put("steps", now.steps)
                .put("calls", now.calls)
                .putThousandths("stepsPerSecond", perThousandSeconds(now.steps - before.steps, nanos - before.nanos))
                .putThousandths("callsPerSecond", perThousandSeconds(now.calls - before.calls, nanos - before.nanos))
                .put("heapUsed", jvm.totalMemory() - jvm.freeMemory())
                .put("heapMost", jvm.maxMemory())
                .put("phase", own.phase().what())
                .put("pendingCalls", own.pending().size())
                .put(
                        "pending",
                        own.pending().stream().limit(MOST_CALLS).map(this::call).toList());
        last(own).ifPresent(call -> page.put("last", call(call)));
        return page.toString();
    }

    private Sample earliest(Sample now) {
        samples.addLast(now);
        while (now.nanos - samples.getFirst().nanos > WINDOW_NANOS) {
            samples.removeFirst();
        }
        return samples.getFirst();
    }

    private static long perThousandSeconds(long count, long nanos) {
        return nanos == 0 ? 0 : Math.max(0, Math.round(count * 1e12 / nanos));
    }

    private static Optional<CallView> last(Activity own) {
        return own.recent().stream().filter(call -> !call.isPending()).reduce((first, second) -> second);
    }

    private JsonObject call(CallView call) {
        return JsonObject.withTextsUpTo(LONGEST_TEXT)
                .put("kind", call.key().kind())
                .put("name", call.key().name())
                .put("set", call.key().processSet())
                .put("members", members(call.members()))
                .put("tensor", call.detail())
                .put("site", call.site())
                .put("begun", call.isStarted() ? 1 : 0)
                .put("submittedAgo", call.submittedAgo())
                .put("endedAgo", call.endedAgo());
    }

    /** Empty if these are all ranks. */
    private String members(List<Integer> ranks) {
        return ranks.size() == members.size() ? "" : RankRuns.text(ranks);
    }

    /** The ranks whose processes the same hvd-top finds. */
    private String local() {
        String machine = members.get(rank).machine();
        return RankRuns.text(members.stream()
                .filter(member -> member.machine().equals(machine))
                .map(RankProcess::rank)
                .toList());
    }

    /** The main class or the jar; the words behind it may be secret. */
    static String program(String command) {
        String first = command.strip().split("\\s", 2)[0];
        return first.substring(first.lastIndexOf('/') + 1);
    }
}
