package io.hvd.monitor;

import io.hvd.monitor.view.Activity;
import io.hvd.monitor.view.LiveReport;
import io.hvd.monitor.view.PhaseView;
import io.hvd.monitor.view.Phrases;
import io.hvd.monitor.view.StackView;
import io.hvd.monitor.view.Stillness;
import io.hvd.trace.Call;
import io.hvd.trace.FlightRecorder;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.lang.management.ThreadInfo;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The report of a rank about itself, which needs no other rank.
 *
 * @param recorder records this rank's collectives
 * @param initialiser the thread that initialised hvd, which is reported as long as no thread has called a collective
 * @param communication the thread that carries collectives out
 */
record LiveReporter(FlightRecorder recorder, Thread initialiser, Thread communication) {
    private static final long MIB = 1L << 20;

    LiveReport report(PhaseView phase) {
        Thread training = training();
        List<ThreadInfo> threads = List.of(ManagementFactory.getThreadMXBean().dumpAllThreads(false, false));
        return new LiveReport(
                Activity.of(recorder, phase),
                StackView.of(training),
                StackView.of(communication),
                Stillness.of(threads, callers()),
                others(threads, List.of(training.getId(), communication.getId())),
                machine());
    }

    /** The threads that have made the calls which the recorder still knows. */
    private Set<Thread> callers() {
        Set<Thread> callers = new LinkedHashSet<>();
        recorder.pending().forEach(call -> callers.add(call.caller()));
        recorder.recent().forEach(call -> callers.add(call.caller()));
        return callers;
    }

    /** The thread that has called the last collective, if it is still alive. */
    private Thread training() {
        List<Call> recent = recorder.recent();
        for (int i = recent.size() - 1; i >= 0; i--) {
            if (recent.get(i).caller().isAlive()) {
                return recent.get(i).caller();
            }
        }
        return initialiser;
    }

    private static String others(List<ThreadInfo> threads, List<Long> known) {
        return threads.stream()
                .filter(thread -> !known.contains(thread.getThreadId()))
                .map(LiveReporter::text)
                .collect(Collectors.joining());
    }

    private static String text(ThreadInfo thread) {
        String lock = thread.getLockName() == null ? "" : "    waits for " + thread.getLockName();
        String owner = thread.getLockOwnerName() == null ? "" : ", held by \"" + thread.getLockOwnerName() + "\"";
        return StackView.of(thread.getThreadName(), thread.getThreadState(), thread.getStackTrace())
                        .headed()
                + (lock.isEmpty() ? "" : lock + owner + "\n");
    }

    private static String machine() {
        var memory = ManagementFactory.getMemoryMXBean();
        String collectors = ManagementFactory.getGarbageCollectorMXBeans().stream()
                .map(bean -> "  " + bean.getName() + ": " + bean.getCollectionCount() + " collections, "
                        + Phrases.seconds(bean.getCollectionTime()) + " in all\n")
                .collect(Collectors.joining());
        return "  up " + Phrases.seconds(ManagementFactory.getRuntimeMXBean().getUptime()) + ", "
                + Runtime.version() + "\n  heap " + usage(memory.getHeapMemoryUsage()) + "\n  other memory "
                + usage(memory.getNonHeapMemoryUsage()) + "\n" + collectors;
    }

    private static String usage(MemoryUsage usage) {
        String most = usage.getMax() < 0 ? "" : " of at most " + usage.getMax() / MIB + " MiB";
        return usage.getUsed() / MIB + " MiB used" + most;
    }
}
