package io.hvd.config;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** All settings, read from the environment once and checked. */
public record HvdConfig(
        BackendChoice backend,
        Optional<Path> openMpiHome,
        Optional<Path> mpiJar,
        long fusionThresholdBytes,
        long cycleNanos,
        int stageBytes,
        boolean pinGpu,
        boolean shareGpu,
        int threadsPerRank,
        boolean mpiThreadsDisabled,
        int startTimeoutSeconds,
        Optional<String> controlInterface,
        Optional<Path> failureDirectory,
        boolean startedByLauncher) {

    /** Which back end to open. */
    public enum BackendChoice {
        AUTO,
        LOCAL,
        MPI,
        NCCL
    }

    /** Set by mpirun (both Open MPI 4 and 5), by srun with PMIx, and by other PMI launchers. */
    private static final List<String> LAUNCHER_VARIABLES = List.of("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK");

    private static final int SMALLEST_STAGE = 4096;
    /** Eleven days; sockets count their timeouts in milliseconds, as an int. */
    private static final int LONGEST_START_TIMEOUT = 1_000_000;

    private static final int MOST_THREADS = 1_000_000;
    private static final int CYCLE_LIMIT_MILLIS = 1_000_000;

    public static HvdConfig fromEnvironment() {
        return from(System.getenv());
    }

    /** Reads the settings out of a map of environment variables. */
    public static HvdConfig from(Map<String, String> environment) {
        Reader reader = new Reader(environment);
        return new HvdConfig(
                reader.backend(),
                reader.text(Setting.OPENMPI_HOME).map(Path::of),
                reader.text(Setting.MPI_JAR).map(Path::of),
                reader.atLeast(Setting.FUSION_THRESHOLD, 0),
                Math.round(reader.millis(Setting.CYCLE_TIME) * 1e6),
                Math.toIntExact(Math.min(reader.atLeast(Setting.STAGE_BYTES, SMALLEST_STAGE), 1 << 30)),
                reader.flag(Setting.PIN_GPU),
                reader.flag(Setting.SHARE_GPU),
                reader.between(Setting.THREADS, 0, MOST_THREADS),
                reader.flag(Setting.MPI_THREADS_DISABLE),
                reader.between(Setting.START_TIMEOUT, 1, LONGEST_START_TIMEOUT),
                reader.text(Setting.CONTROL_INTERFACE),
                reader.text(Setting.FAILURE_DIR).map(Path::of),
                LAUNCHER_VARIABLES.stream().anyMatch(environment::containsKey));
    }

    private record Reader(Map<String, String> environment) {
        Optional<String> text(Setting setting) {
            return Optional.ofNullable(environment.get(setting.variable()))
                    .map(String::trim)
                    .filter(value -> !value.isEmpty());
        }

        String value(Setting setting) {
            return text(setting).orElse(setting.defaultValue());
        }

        BackendChoice backend() {
            String value = value(Setting.BACKEND);
            try {
                return BackendChoice.valueOf(value.toUpperCase(Locale.ROOT));
            } catch (IllegalArgumentException e) {
                throw bad(Setting.BACKEND, value, "auto, local, mpi or nccl");
            }
        }

        /** Stricter than Horovod, which reads "true" as 0. */
        boolean flag(Setting setting) {
            String value = value(setting);
            return switch (value.toLowerCase(Locale.ROOT)) {
                case "1", "true", "yes", "on" -> true;
                case "0", "false", "no", "off" -> false;
                default -> throw bad(setting, value, "1, true, yes, on, 0, false, no or off");
            };
        }

        long atLeast(Setting setting, long least) {
            String value = value(setting);
            try {
                long number = Long.parseLong(value);
                if (number >= least) {
                    return number;
                }
            } catch (NumberFormatException e) {
                // answered below, like a number that is too small
            }
            throw bad(setting, value, "a whole number of at least " + least);
        }

        int between(Setting setting, int least, int most) {
            String value = value(setting);
            try {
                int number = Integer.parseInt(value);
                if (number >= least && number <= most) {
                    return number;
                }
            } catch (NumberFormatException e) {
                // answered below, like a number out of range
            }
            throw bad(setting, value, "a whole number from " + least + " to " + most);
        }

        double millis(Setting setting) {
            String value = value(setting);
            try {
                double number = Double.parseDouble(value);
                if (number >= 0 && number < CYCLE_LIMIT_MILLIS) {
                    return number;
                }
            } catch (NumberFormatException e) {
                // answered below, like a number out of range
            }
            throw bad(setting, value, "a number of milliseconds, 0 or more and below " + CYCLE_LIMIT_MILLIS);
        }

        private static HvdException bad(Setting setting, String found, String expected) {
            return new HvdException(
                    ErrorId.BAD_SETTING,
                    setting.variable() + " is \"" + found + "\", expected " + expected + ": " + setting.meaning());
        }
    }
}
