package io.hvd;

import io.hvd.engine.Request;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.job.Membership;
import io.hvd.spi.Topology;
import io.hvd.tensor.Device;
import io.hvd.timeline.Timeline;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.stream.IntStream;

/**
 * One rank's membership in a job: who it is, where it runs, and the set of all ranks with its
 * collectives. Made by {@link Hvd#init()} or {@link Hvd#spawn}; any thread may use it.
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

    /** This process's number in the job, 0 to {@link #size()} - 1. */
    @Override
    public int rank() {
        return topology.rank();
    }

    /** This rank's number among those of its host. */
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

    /** Whether all hosts have the same number of ranks. */
    public boolean isHomogeneous() {
        return topology.homogeneous();
    }

    /** Host name of every rank, by rank. */
    public List<String> hosts() {
        return topology.hosts();
    }

    /** The first GPU of this rank, or the CPU when there is none. */
    public Device device() {
        return devices().isEmpty() ? Device.CPU : devices().get(0);
    }

    /** The GPUs of this rank, as many as {@code HVD_GPUS_PER_RANK} says; none if it computes on the CPU. */
    public List<Device> devices() {
        return membership().devices();
    }

    /** The back end and why it was chosen, in a few words. */
    public String backend() {
        return membership().description();
    }

    public boolean isOpen() {
        return membership().isOpen();
    }

    /**
     * Known long work of this rank: the others' waiting for it neither warns nor counts until it ends or
     * its budget is used up. To be closed when the work is done.
     *
     * @param what named in the report if it takes longer after all
     */
    public Phase phase(String what, Duration atMost) {
        return membership().phase(what, atMost)::run;
    }

    /** All process sets by number, this one included as number 0. */
    public Map<Integer, ProcessSet> processSets() {
        return Map.copyOf(sets);
    }

    /**
     * A process set by number.
     *
     * @throws HvdException if there is none
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
     * Registers a process set; all ranks of the job call it with the same ranks, members or not, and wait
     * for each other. Needs {@link InitOptions#withDynamicProcessSets()} or
     * {@code HOROVOD_DYNAMIC_PROCESS_SETS=1}; sets that are known from the start
     * are given to {@link Hvd#init(InitOptions)}.
     *
     * @throws HvdException if a rank is named twice or does not exist, or the same set is there already
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

    /** Takes a process set away; all ranks of the job call it. What it is still doing fails. */
    public void removeProcessSet(ProcessSet set) {
        requireDynamicSets("removeProcessSet");
        Request request = new Request.RemoveProcessSet(calls().nameOr(null, "remove_process_set"), set.id());
        calls().submit(request).synchronize();
        set.calls().unregister();
        sets.remove(set.id());
    }

    /**
     * Starts to record what all ranks do, from this call on; every rank calls it. Needs
     * {@code HOROVOD_TIMELINE=DYNAMIC}; a timeline of the whole run needs only the file's name in that
     * variable instead.
     *
     * @param file in Chrome's trace format, replaced if it exists; rank 0's counts. If it cannot be opened,
     *     an error is logged and the training goes on
     * @param markCycles shows whenever an engine turned to its queue
     * @throws HvdException if the variable has another value, or a timeline is being written already
     */
    public void startTimeline(Path file, boolean markCycles) {
        Timeline timeline = dynamicTimeline("startTimeline(" + file + ")");
        timeline.begin(file, markCycles);
        barrier();
        timeline.listen();
    }

    /**
     * Ends what {@link #startTimeline} has started; every rank calls it. Rank 0 comes back when the file is
     * complete, and has printed where the steps' time went.
     */
    public void stopTimeline() {
        Timeline timeline = dynamicTimeline("stopTimeline()");
        barrier();
        timeline.end();
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
     * Leaves the job; every rank must come here. Waits until all have, then ends MPI. Operations that
     * are still pending fail.
     */
    @Override
    public void close() {
        membership().close(true);
    }

    /** Like {@link #close()}, but MPI stays, so that {@link Hvd#init()} may be called again. */
    public void shutdown() {
        membership().close(false);
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
