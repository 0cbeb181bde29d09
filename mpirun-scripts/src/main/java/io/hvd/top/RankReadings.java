package io.hvd.top;

import io.hvd.top.OpenPages.Sighting;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Looks at the ranks of one job on this host. Ranks that are threads of one process have the figures of that process. */
final class RankReadings {
    private static final long MIB = 1 << 20;
    private static final long KIB_IN_MIB = 1024;
    private static final long PERCENT = 100;

    private final OpenPages pages;
    private final Path proc;
    /** The job to look at, such as vm:1857; empty before one has been seen. */
    private String job;

    private List<String> others = List.of();
    private List<Sighting> earlier = List.of();

    /** @param job host and process of its rank 0; empty for the first one that is there */
    RankReadings(OpenPages pages, Path proc, String job) {
        this.pages = pages;
        this.proc = proc;
        this.job = job;
    }

    /** The readings of all ranks that were there at the last look too; the load is that of the time between. */
    List<Reading> look(LocalDateTime time) throws IOException {
        List<Sighting> all = pages.ranks();
        if (job.isEmpty() && !all.isEmpty()) {
            job = all.get(0).page().job();
            others = all.stream()
                    .map(one -> one.page().job())
                    .distinct()
                    .filter(other -> !other.equals(job))
                    .toList();
        }
        List<Sighting> ranks =
                all.stream().filter(one -> one.page().job().equals(job)).toList();
        String memory = Files.readString(proc.resolve("meminfo"));
        long total = mebibytes(memory, "MemTotal");
        long free = mebibytes(memory, "MemAvailable");
        List<Reading> readings = ranks.stream()
                .flatMap(one -> before(one).stream().map(then -> reading(one, then, time, total, free)))
                .toList();
        earlier = ranks;
        return readings;
    }

    /** Whether the last look has found a rank. */
    boolean seesRanks() {
        return !earlier.isEmpty();
    }

    /** A remark on a choice of job that was not the user's; empty if there was none to make. */
    String choice() {
        return others.isEmpty() ? "" : "watches job " + job + ", and leaves out " + others + ", which --job names";
    }

    private Optional<ProcessFacts> before(Sighting one) {
        return earlier.stream()
                .map(Sighting::process)
                .filter(process -> process.pid() == one.process().pid())
                .findFirst();
    }

    private static Reading reading(Sighting one, ProcessFacts then, LocalDateTime time, long total, long free) {
        long used = one.process().residentBytes() / MIB;
        return new Reading(
                time,
                one.page().rank(),
                total,
                used,
                free,
                Math.round(one.process().cpuPercent(Optional.of(then))),
                PERCENT * used / Math.max(1, total));
    }

    private static long mebibytes(String memory, String name) throws IOException {
        Matcher line = Pattern.compile("(?m)^" + name + ":\\s+(\\d{1,15}) kB$").matcher(memory);
        if (!line.find()) {
            throw new IOException("/proc/meminfo has no line " + name);
        }
        return Long.parseLong(line.group(1)) / KIB_IN_MIB;
    }
}
