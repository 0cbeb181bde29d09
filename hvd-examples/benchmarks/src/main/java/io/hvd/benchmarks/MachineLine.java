package io.hvd.benchmarks;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Describes the machine and the versions on which the figures of a run depend, in one line. */
final class MachineLine {
    private static final Pattern MPI_VERSION = Pattern.compile("\\(Open MPI\\) (\\S+)");

    private MachineLine() {}

    static int cores() {
        return Runtime.getRuntime().availableProcessors();
    }

    /** The version of the mpirun on PATH, or {@code none}. */
    static String openMpi() {
        try {
            Process process = new ProcessBuilder("mpirun", "--version").start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            Matcher version = MPI_VERSION.matcher(said);
            return version.find() ? version.group(1) : "none";
        } catch (IOException e) {
            return "none";
        }
    }

    /** The line {@code MACHINE date=... cores=...}, in which each value is one word. */
    static String line() {
        return "MACHINE date=" + LocalDate.now(ZoneId.systemDefault())
                + " cores=" + cores()
                + " cpu=" + field("/proc/cpuinfo", "model name\\s*:\\s*(.*)")
                + " ram=" + memory()
                + " os=" + field("/etc/os-release", "PRETTY_NAME=\"(.*)\"")
                + " kernel=" + Result.word(System.getProperty("os.version"))
                + " jdk=" + Runtime.version()
                + " openmpi=" + openMpi()
                + " load=" + field("/proc/loadavg", "(\\S+)");
    }

    private static String memory() {
        String kibibytes = field("/proc/meminfo", "MemTotal:\\s*(\\d+) kB");
        return kibibytes.equals("?") ? kibibytes : Long.parseLong(kibibytes) / (1 << 20) + "GiB";
    }

    private static String field(String file, String pattern) {
        try {
            Optional<String> found = Files.readAllLines(Path.of(file)).stream()
                    .map(Pattern.compile(pattern)::matcher)
                    .filter(Matcher::find)
                    .map(line -> line.group(1))
                    .findFirst();
            return Result.word(found.orElse("?"));
        } catch (IOException e) {
            return "?";
        }
    }
}
