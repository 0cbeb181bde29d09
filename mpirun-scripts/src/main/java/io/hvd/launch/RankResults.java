package io.hvd.launch;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The results of a job's ranks: one file per rank in the folder of the job. */
final class RankResults {

    private static final String PREFIX = "result-";

    private RankResults() {}

    /** The name under which a rank hands in its result. */
    static String name(int rank) {
        return PREFIX + rank;
    }

    /** The results of a job that has ended well, by rank. */
    static <R> List<R> read(Path folder, int ranks, LaunchedProgram<R> reader) throws IOException {
        List<R> results = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            Path file = folder.resolve(name(rank));
            if (!Files.isRegularFile(file)) {
                throw new JobFailedException("rank " + rank + " of " + ranks + " ended with 0 and without a result");
            }
            results.add(reader.codec().decode(Files.readAllBytes(file)));
        }
        return List.copyOf(results);
    }
}
