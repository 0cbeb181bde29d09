package io.hvd.backend.shm;

import io.hvd.spi.Collectives;
import io.hvd.spi.Topology;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;

/** Makes the data planes of process sets: with a segment where all members are on one host. Communication thread. */
final class SharedPlanes {
    /** A stage of every rank, both parities of it and the result stay in a core's cache. */
    private static final int STAGE_BYTES = 128 << 10;

    private static final int LEAST_STAGE_BYTES = 16 << 10;

    private final Topology topology;
    private final Path folder;
    private final Patience patience;
    private String note = "";

    /** @param folder in memory */
    SharedPlanes(Topology topology, Path folder) {
        this.topology = topology;
        this.folder = folder;
        this.patience = new Patience(topology.localSize());
    }

    List<Integer> everybody() {
        return IntStream.range(0, topology.size()).boxed().toList();
    }

    /** For the line that tells the choice; about the set of all ranks, which is made first. */
    String note() {
        return note;
    }

    /**
     * All members come here together.
     *
     * @param beneath their data plane without shared memory
     */
    Collectives over(Collectives beneath, List<Integer> members) {
        long hosts = members.stream().map(topology.nodes()::get).distinct().count();
        if (members.size() == 1 || hosts > 1) {
            return beneath;
        }
        int rank = members.indexOf(topology.rank());
        Founding.Result result =
                new Founding(folder, beneath, rank, members.size()).found(STAGE_BYTES, LEAST_STAGE_BYTES);
        if (note.isEmpty()) {
            note = result.segment()
                    .map(segment -> "shared memory (" + segment.stageBytes() / 1024 + " KiB per rank"
                            + (result.note().isEmpty() ? "" : ", as more could not be had: " + result.note())
                            + ") over ")
                    .orElse("no shared memory (" + result.note() + "), ");
        }
        return result.segment()
                .<Collectives>map(segment -> new SharedCollectives(segment, beneath, patience))
                .orElse(beneath);
    }
}
