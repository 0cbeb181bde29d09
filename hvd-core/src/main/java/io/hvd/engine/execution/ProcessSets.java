package io.hvd.engine.execution;

import io.hvd.config.EngineSettings;
import io.hvd.engine.submission.TensorQueue;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Backend;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * The process sets that this rank belongs to. Plans add and remove them, in the same order on every rank. Only the
 * communication thread calls this class.
 */
public final class ProcessSets {
    private static final int ALL = 0;

    private final Backend backend;
    private final EngineSettings settings;
    private final DataLog log;
    private final TensorQueue queue;
    private final int rank;
    private final Map<Integer, SetMember> sets = new TreeMap<>();

    /**
     * Begins with the set of all ranks.
     *
     * @param log hears of the data planes' activities
     * @param queue loses the pending operations of a set that is removed
     */
    public ProcessSets(Backend backend, EngineSettings settings, DataLog log, TensorQueue queue) {
        this.backend = backend;
        this.settings = settings;
        this.log = log;
        this.queue = queue;
        this.rank = backend.topology().rank();
        List<Integer> all =
                IntStream.range(0, backend.topology().size()).boxed().toList();
        sets.put(ALL, new SetMember(ALL, all, rank, backend.collectives(), settings, log));
    }

    /** The set of all ranks. */
    public SetMember all() {
        return sets.get(ALL);
    }

    /** The set with this number, or null if this rank is not in it. */
    public SetMember get(int id) {
        return sets.get(id);
    }

    public boolean contains(int id) {
        return sets.containsKey(id);
    }

    /**
     * Adds a set, which this rank need not belong to.
     *
     * @param members global ranks
     */
    public void enter(int id, List<Integer> members) {
        if (members.contains(rank)) {
            sets.put(id, new SetMember(id, members, rank, backend.collectives(members), settings, log));
        }
    }

    /** Removes a set and fails its pending operations. */
    public void leave(int id) {
        SetMember left = sets.remove(id);
        if (left != null) {
            queue.abandon(id, removed(id));
            left.data().close();
        }
    }

    /** The exception for the threads that wait for an operation of a set that has been removed. */
    public static HvdException removed(int id) {
        return new HvdException(ErrorId.UNKNOWN_PROCESS_SET, "process set " + id + " has been removed");
    }

    /** Closes the data planes when the ranks end together, except that of all ranks. */
    public void close() {
        sets.values().stream()
                .filter(set -> set.id() != ALL)
                .forEach(set -> set.data().close());
    }

    /** Abandons the data planes, when the job ends without the other ranks. */
    public void abandon() {
        sets.values().forEach(set -> set.data().abandon());
    }
}
