package io.hvd;

import io.hvd.buffer.BufferLedger;
import io.hvd.engine.message.Request;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.job.Membership;
import io.hvd.spi.Topology;
import io.hvd.tensor.Device;
import io.hvd.timeline.Timeline;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.stream.IntStream;

/**
 * One rank's membership in a job: its number, the place where it runs, and the set of all ranks with its collectives.
 * {@link Hvd#init()} and {@link Hvd#spawn} make it; any thread may use it.
 *
 * <p>An interrupt of a rank's thread ends no call that waits for other ranks, neither under a launcher nor in a spawn:
 * what this rank has submitted cannot be taken back, since the other ranks may be working with it already. Every such
 * call goes on to its result or its error, and leaves the thread interrupted, so that the program can see it afterwards.
 * Waiting calls end with the job, which ends by a failure, by a limit, or by an interrupt of the thread that has called
 * {@link Hvd#spawn}.
 *
 * <pre>{@code
 * try (HvdContext hvd = Hvd.init()) {
 *     var sampler = new DistributedSampler(samples, hvd.size(), hvd.rank());
 *     hvd.broadcastParameters(parameters, 0);
 *     hvd.barrier();
 * }
 * }</pre>
 */
public final class HvdContext extends ProcessSet implements AutoCloseable {
    private final Topology topology;
    private final boolean dynamicSets;
    private final Map<Integer, ProcessSet> sets = new ConcurrentSkipListMap<>();

    HvdContext(Membership membership, InitOptions options) {
        super(
                membership,
                0,
                IntStream.range(0, membership.topology().size()).boxed().toList());
        this.topology = membership.topology();
        this.dynamicSets = membership.config().engine().dynamicProcessSets() || options.dynamicProcessSets();
        sets.put(0, this);
        membership.processSets().forEach(this::register);
    }

    /** This rank's number in the job, from 0 to {@link #size()} - 1. */
    @Override
    public int rank() {
        return topology.rank();
    }

    /**
     * The number of this job's generation, on which all ranks agree. {@link #shutdown()} and {@link Hvd#init()} make the
     * next one, which has a higher number; a job of {@link Hvd#spawn} alone has number 0.
     */
    public int generation() {
        return membership().generation();
    }

    /** This rank's number among the ranks of its host. */
    public int localRank() {
        return topology.localRank();
    }

    /** Number of ranks on this host. */
    public int localSize() {
        return topology.localSize();
    }

    /** This host's number among the hosts that have a rank with this local rank. */
    public int crossRank() {
        return topology.crossRank();
    }

    /** Number of hosts that have a rank with this local rank. */
    public int crossSize() {
        return topology.crossSize();
    }

    /** Says whether all hosts have the same number of ranks. */
    public boolean isHomogeneous() {
        return topology.homogeneous();
    }

    /** The host names of all ranks, in the order of the ranks. */
    public List<String> hosts() {
        return topology.hosts();
    }

    /** The first GPU of this rank, or the CPU when there is none. */
    public Device device() {
        return devices().isEmpty() ? Device.CPU : devices().get(0);
    }

    /** The GPUs of this rank, as many as {@code HVD_GPUS_PER_RANK} says; empty if the rank computes on the CPU. */
    public List<Device> devices() {
        return membership().devices();
    }

    /**
     * Says in a few words which back end is in use and why it was chosen.
     *
     * <pre>{@code
     * System.out.println(hvd.backend()); // such as: local (one rank)
     * }</pre>
     */
    public String backend() {
        return membership().description();
    }

    /** Whether the context has not been closed. One whose job has failed is open until then, and its collectives throw. */
    public boolean isOpen() {
        return membership().isOpen();
    }

    /**
     * Announces long work of this rank, such as an evaluation. Until the phase is closed or its time is used up, other
     * ranks that wait for this one give no warning, and their waiting does not count towards a hang. Close the phase
     * when the work is done.
     *
     * <pre>{@code
     * try (Phase phase = hvd.phase("evaluation", Duration.ofMinutes(20))) {
     *     evaluate(model); // the other ranks wait meanwhile
     * }
     * }</pre>
     *
     * @param what the name of the work, for the report if it takes longer than expected
     * @param atMost the longest time that the work is expected to take
     */
    public Phase phase(String what, Duration atMost) {
        return membership().phase(what, atMost)::run;
    }

    /** All process sets by number; the set of all ranks has number 0. */
    public Map<Integer, ProcessSet> processSets() {
        return Map.copyOf(sets);
    }

    /**
     * Finds a process set by its number.
     *
     * @throws HvdException if there is no set of this number
     */
    public ProcessSet processSet(int id) {
        ProcessSet set = sets.get(id);
        if (set == null) {
            throw new HvdException(
                    ErrorId.UNKNOWN_PROCESS_SET,
                    "process set " + id + " is not registered on rank " + rank() + ", there are " + sets.keySet());
        }
        return set;
    }

    /**
     * Registers a process set. All ranks of the job, members or not, must call it with the same ranks, and wait for
     * each other. It needs {@link InitOptions#withDynamicProcessSets()} or {@code HOROVOD_DYNAMIC_PROCESS_SETS=1}. Pass
     * sets that are known from the start to {@link Hvd#init(InitOptions)}.
     *
     * <pre>{@code
     * ProcessSet even = hvd.addProcessSet(List.of(0, 2));
     * if (even.included()) {
     *     Tensor mean = even.allreduce("loss", loss);
     * }
     * }</pre>
     *
     * @param ranks global ranks of the members
     * @throws HvdException if a rank is named twice or does not exist, or a set of these ranks exists already
     */
    public ProcessSet addProcessSet(List<Integer> ranks) {
        requireDynamicSets("addProcessSet");
        List<Integer> members = membership().members(ranks);
        Request request = new Request.AddProcessSet(calls().nameOr(null, "add_process_set"), members);
        int id = calls().submit(request).number();
        ProcessSet set = new ProcessSet(membership(), id, members);
        sets.put(id, set);
        return set;
    }

    /** Removes a process set. All ranks of the job must call it. Operations of the set that are not complete fail. */
    public void removeProcessSet(ProcessSet set) {
        requireDynamicSets("removeProcessSet");
        Request request = new Request.RemoveProcessSet(calls().nameOr(null, "remove_process_set"), set.id());
        calls().submit(request).synchronize();
        set.calls().unregister();
        sets.remove(set.id());
    }

    /**
     * Starts a timeline of all ranks from this call on. Every rank must call it. It needs {@code
     * HOROVOD_TIMELINE=DYNAMIC}; for a timeline of the whole run, put the name of the file into that variable instead.
     *
     * <pre>{@code
     * hvd.startTimeline(Path.of("timeline.json"), false);
     * train(hvd);
     * hvd.stopTimeline();
     * }</pre>
     *
     * @param file file in Chrome's trace format, which rank 0 writes; an existing file is replaced. If rank 0 cannot
     *     open it, an error is logged and the training goes on
     * @param markCycles whether the timeline shows each cycle of the engines
     * @throws HvdException if the variable has another value, or a timeline is already being written
     */
    public void startTimeline(Path file, boolean markCycles) {
        Timeline timeline = dynamicTimeline("startTimeline(" + file + ")");
        timeline.begin(file, markCycles);
        barrier();
        timeline.listen();
    }

    /**
     * Ends the timeline that {@link #startTimeline} has started. Every rank must call it. On rank 0 it returns when the
     * file is complete and the summary of the steps has been printed.
     */
    public void stopTimeline() {
        Timeline timeline = dynamicTimeline("stopTimeline()");
        barrier();
        timeline.end();
    }

    /**
     * The variables of the settings that autotuning may change, with the values that hold on this rank: {@code
     * HOROVOD_FUSION_THRESHOLD}, {@code HOROVOD_CYCLE_TIME}, {@code HVD_BUCKET_BYTES} and, where there is a choice, {@code
     * HOROVOD_HIERARCHICAL_ALLREDUCE}. A job that is started with them begins where this one
     * is. All ranks change them between the same two operations; a rank that asks while another is ahead may see the
     * values before.
     *
     * <pre>{@code
     * hvd.tunedSettings().forEach((variable, value) -> System.out.println(variable + "=" + value));
     * }</pre>
     *
     * @throws io.hvd.error.NotInitialisedException if this rank has left the job
     */
    public Map<String, String> tunedSettings() {
        return membership().open("tunedSettings()").tunedSettings();
    }

    /**
     * The line with which autotuning has ended: what it has chosen, what that gains and how sure it is. It is empty
     * before, and without {@code HOROVOD_AUTOTUNE=1}.
     *
     * @throws io.hvd.error.NotInitialisedException if this rank has left the job
     */
    public Optional<String> autotuneResult() {
        return membership().open("autotuneResult()").tuningResult();
    }

    /**
     * The memory outside Java's heap that hvd has in this process, which ranks that are threads share. It is no collective.
     *
     * @param buffers what each owner has, in a fixed order; those that have had nothing yet are missing
     */
    public record Memory(List<Buffers> buffers) {
        /**
         * Memory of one owner and one kind.
         *
         * @param owner what the memory is for, such as {@code stages of MPI}
         * @param kind {@code direct}, {@code mapped}, {@code pinned} or {@code gpu}
         * @param count buffers now
         * @param bytes of them now
         * @param peakBytes the most that they were at a time since the process has started
         */
        public record Buffers(String owner, String kind, int count, long bytes, long peakBytes) {}

        /** Bytes of all owners now. */
        public long bytes() {
            return buffers.stream().mapToLong(Buffers::bytes).sum();
        }

        /** A table with one line for each owner and kind. */
        @Override
        public String toString() {
            StringBuilder table = new StringBuilder(String.format(
                    Locale.ROOT, "%-40s %-7s %7s %15s %15s%n", "owner", "kind", "buffers", "bytes", "peak bytes"));
            for (Buffers one : buffers) {
                table.append(String.format(
                        Locale.ROOT,
                        "%-40s %-7s %7d %15d %15d%n",
                        one.owner,
                        one.kind,
                        one.count,
                        one.bytes,
                        one.peakBytes));
            }
            return table.toString();
        }
    }

    /**
     * The direct buffers, mapped files, pinned and GPU memory that hvd holds, by owner. Memory of direct buffers counts until the
     * garbage collector has taken it. {@code HVD_MAX_BUFFER_BYTES} limits it, and with {@code HVD_BUFFER_SITES=1} closing the
     * context lists what somebody still holds.
     *
     * <pre>{@code
     * System.out.println(hvd.memory()); // a table by owner
     * }</pre>
     */
    public Memory memory() {
        return new Memory(BufferLedger.PROCESS.uses().stream()
                .map(use -> new Memory.Buffers(
                        use.owner().words(),
                        use.kind().name().toLowerCase(Locale.ROOT),
                        use.buffers(),
                        use.bytes(),
                        use.peakBytes()))
                .toList());
    }

    private Timeline dynamicTimeline(String call) {
        return membership()
                .timeline()
                .filter(Timeline::isDynamic)
                .orElseThrow(() -> new HvdException(
                        ErrorId.BAD_SETTING,
                        call + " on rank " + rank() + " needs HOROVOD_TIMELINE=DYNAMIC; rank 0 was started with "
                                + membership()
                                        .timeline()
                                        .map(writing -> "the name of a file in it")
                                        .orElse("none")));
    }

    /**
     * Leaves the job. Every rank must call it; it waits until all ranks have, then ends MPI. Operations that are still
     * pending fail.
     */
    @Override
    public void close() {
        membership().close(true);
    }

    /** Leaves the job as {@link #close()} does, but keeps MPI, so that {@link Hvd#init()} may be called again. */
    public void shutdown() {
        membership().close(false);
    }

    /**
     * This rank, its host and devices, the back end, and whether the context is still open. It asks no other rank, and may be called at
     * any time.
     */
    @Override
    public String toString() {
        return "HvdContext(rank " + rank() + " of " + size() + ", local rank " + localRank() + " of " + localSize()
                + " on "
                + hosts().get(rank()) + ", " + (devices().isEmpty() ? "CPU" : devices()) + ", " + backend()
                + (sets.size() > 1 ? ", " + (sets.size() - 1) + " more process set(s)" : "")
                + (isOpen() ? "" : ", closed") + ")";
    }

    private void register(List<Integer> ranks) {
        sets.put(sets.size(), new ProcessSet(membership(), sets.size(), ranks));
    }

    private void requireDynamicSets(String call) {
        if (!dynamicSets) {
            throw new HvdException(
                    ErrorId.BAD_SETTING,
                    call + " on rank " + rank()
                            + " needs HOROVOD_DYNAMIC_PROCESS_SETS=1, or InitOptions.withDynamicProcessSets(), on every rank");
        }
    }
}
