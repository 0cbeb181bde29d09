package io.hvd.engine;

import io.hvd.config.EngineSettings;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spi.Backend;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** The process sets that this rank is in. They come and go in the order of the plans. Communication thread. */
final class ProcessSets {
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
     * @param log hears what the data planes do
     * @param queue loses what a set waits for that is taken away
     */
    ProcessSets(Backend backend, EngineSettings settings, DataLog log, TensorQueue queue) {
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
    SetMember all() {
        return sets.get(ALL);
    }

    /** A set that this rank is in, by its number. */
    SetMember get(int id) {
        return sets.get(id);
    }

    boolean contains(int id) {
        return sets.containsKey(id);
    }

    /** A set comes, perhaps without this rank. @param members global ranks */
    void enter(int id, List<Integer> members) {
        if (members.contains(rank)) {
            sets.put(id, new SetMember(id, members, rank, backend.collectives(members), settings, log));
        }
    }

    /** A set goes, and what it waits for fails. */
    void leave(int id) {
        SetMember left = sets.remove(id);
        if (left != null) {
            queue.abandon(id, removed(id));
            left.data().close();
        }
    }

    /** What those get who wait for an operation of a set that has gone. */
    static HvdException removed(int id) {
        return new HvdException(ErrorId.UNKNOWN_PROCESS_SET, "process set " + id + " has been removed");
    }

    /** The ranks end together. */
    void close() {
        sets.values().stream()
                .filter(set -> set.id() != ALL)
                .forEach(set -> set.data().close());
    }

    /** The job ends without the others. */
    void abandon() {
        sets.values().forEach(set -> set.data().abandon());
    }
}
