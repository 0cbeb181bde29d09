package io.hvd.launch;

import io.hvd.launch.failure.CrashFile;
import io.hvd.launch.failure.Evidence;
import io.hvd.launch.failure.LastLines;
import io.hvd.launch.failure.MemoryKills;
import io.hvd.launch.failure.ObservedFailure;
import io.hvd.launch.jvm.JavaLine;
import io.hvd.launch.options.LaunchSettings;
import io.hvd.launch.process.LaunchEnvironment;
import io.hvd.launch.process.StartedJob;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The state of things when a job starts, from which reasons are told when a process has ended without a record.
 *
 * @param ranks their number
 * @param allHere whether they run on this machine, on which the kernel's counters are read
 */
record FailureScene(int ranks, boolean allHere, CrashFile.Places places, MemoryKills before) {

    static FailureScene now(LaunchSettings settings, LaunchEnvironment around, boolean allHere) {
        List<String> words = Stream.concat(
                        settings.command().stream(),
                        JavaLine.VARIABLES.stream()
                                .flatMap(name -> Stream.of(around.environment()
                                        .getOrDefault(name, "")
                                        .split("\\s+"))))
                .toList();
        // The clock of a file system may be a second coarse.
        var places = new CrashFile.Places(around.folder(), words, Instant.now().truncatedTo(ChronoUnit.SECONDS));
        return new FailureScene(settings.ranks(), allHere, places, MemoryKills.now(Path.of("/")));
    }

    Evidence evidence(Optional<ObservedFailure> seen, StartedJob job) {
        int rank = seen.map(ObservedFailure::rank).orElse(ObservedFailure.NO_RANK);
        String said = seen.map(ObservedFailure::words).orElse("");
        List<String> crash = CrashFile.find(places, said);
        boolean isExplained =
                !crash.isEmpty() || seen.filter(ObservedFailure::bySignal).isPresent();
        LastLines.Said last = isExplained ? LastLines.NOTHING : job.lastLines(rank);
        String whose = ranks == 1 ? "the rank" : last.areOfOne() ? "rank " + rank : "all ranks together";
        String killer = allHere ? MemoryKills.now(Path.of("/")).since(before) : "";
        return new Evidence(last.lines(), whose, crash, killer);
    }
}
