package io.hvd.launch.direct;

import io.hvd.launch.mpi.MpiInstall;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Named pipes for the output of the ranks on this machine. A pipe of {@link Process} ends with the process, and what a child
 * of it still has to say, such as the copier of an output file, is lost.
 */
record OutputPipes(Path folder) {

    /**
     * Makes them in the job's folder, which is deleted with all that is in it.
     *
     * @return empty if this machine has no mkfifo
     */
    static Optional<OutputPipes> make(Path folder, List<PlannedRank> ranks, Map<String, String> environment)
            throws IOException, InterruptedException {
        Optional<Path> program = MpiInstall.onPath("mkfifo", environment);
        if (program.isEmpty() || ranks.isEmpty()) {
            return Optional.empty();
        }
        var pipes = new OutputPipes(folder);
        List<String> words = new ArrayList<>(List.of(program.get().toString()));
        for (PlannedRank rank : ranks) {
            words.add(pipes.out(rank).toString());
            words.add(pipes.err(rank).toString());
        }
        boolean made = new ProcessBuilder(words).inheritIO().start().waitFor() == 0;
        return made ? Optional.of(pipes) : Optional.empty();
    }

    /**
     * The launcher's ends of a rank's pipes.
     *
     * @param writers keep the pipes from their end until the rank has its own
     */
    record Ends(InputStream out, InputStream err, List<RandomAccessFile> writers) {

        void rankHasStarted() throws IOException {
            for (RandomAccessFile writer : writers) {
                writer.close();
            }
        }
    }

    /** To be called before the rank is started, which would wait for somebody who reads. This waits for nobody. */
    Ends open(PlannedRank rank) throws IOException {
        List<RandomAccessFile> writers = List.of(
                new RandomAccessFile(out(rank).toFile(), "rw"),
                new RandomAccessFile(err(rank).toFile(), "rw"));
        return new Ends(
                new FileInputStream(out(rank).toFile()),
                new FileInputStream(err(rank).toFile()),
                writers);
    }

    Path out(PlannedRank rank) {
        return folder.resolve("rank-" + rank.rank() + ".stdout");
    }

    Path err(PlannedRank rank) {
        return folder.resolve("rank-" + rank.rank() + ".stderr");
    }
}
