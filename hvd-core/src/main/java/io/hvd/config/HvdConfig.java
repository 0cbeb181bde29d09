package io.hvd.config;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * All settings, read from the environment once and checked.
 *
 * @param launcherRank this process's number among those that a launcher started; empty without one, -1 if it
 *     cannot be read
 * @param launcherSize number of processes that it started; empty without one, or if it does not say
 * @param slurm what Slurm says; empty outside its jobs
 * @param notes what the user should know of the settings, to be logged once, by rank 0
 */
public record HvdConfig(
        BackendChoice backend,
        Optional<Path> openMpiHome,
        Optional<Path> mpiJar,
        boolean mpiThreadsDisabled,
        int startTimeoutSeconds,
        Optional<String> controlInterface,
        EngineSettings engine,
        int stageBytes,
        boolean sharedMemory,
        AllreduceAlgorithm allreduceAlgorithm,
        GpuSettings gpu,
        int threadsPerRank,
        StallSettings stall,
        DebugSettings debug,
        Optional<Path> failureDirectory,
        Optional<String> launcherAddress,
        boolean terminal,
        ArchiveChoice classArchive,
        LogSettings log,
        TimelineSettings timeline,
        AutotuneSettings autotune,
        OptionalInt launcherRank,
        OptionalInt launcherSize,
        Optional<SlurmPlace> slurm,
        Optional<ForeignLauncher> foreignLauncher,
        List<DeclaredJob> declared,
        List<String> notes) {

    /** The back end to open. */
    public enum BackendChoice {
        AUTO,
        LOCAL,
        MPI,
        NCCL
    }

    /** What horovodrun does about class-data archives of the programs that it starts. */
    public enum ArchiveChoice {
        /** It uses the one that is there, and has a missing one made after the job, without waiting for it. */
        AUTO,
        OFF,
        /** It waits for one that is made. */
        WAIT
    }

    /** How an allreduce goes from process to process. */
    public enum AllreduceAlgorithm {
        /** hvd chooses by the size of the tensor and the number of ranks and hosts. */
        AUTO,
        /** Open MPI decides. */
        MPI,
        /** hvd's own, over messages between neighbours. */
        RING
    }

    /** Set by mpirun (both Open MPI 4 and 5), by srun with PMIx, and by other PMI launchers. */
    private static final List<String> LAUNCHER_VARIABLES = List.of("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK");

    private static final List<String> LAUNCHER_SIZE_VARIABLES = List.of("OMPI_COMM_WORLD_SIZE", "PMI_SIZE");

    private static final int SMALLEST_STAGE = 4096;
    /** Eleven days; sockets count their timeouts in milliseconds, as an int. */
    private static final int LONGEST_START_TIMEOUT = 1_000_000;

    private static final int MOST_THREADS = 1_000_000;

    public static HvdConfig fromEnvironment() {
        return from(System.getenv());
    }

    /**
     * Reads only the settings that the launcher makes, for a process whose settings are wrong, and whether the program
     * keeps its exceptions for itself.
     */
    public static HvdConfig ofLauncherOnly(Map<String, String> environment) {
        Map<String, String> launchers = new HashMap<>(environment);
        launchers
                .keySet()
                .removeIf(name -> OtherVariables.isOurs(name)
                        && !name.equals(Setting.FAILURE_DIR.variable())
                        && !name.equals(Setting.LAUNCHER_ADDRESS.variable())
                        && !(name.equals(Setting.UNCAUGHT_HANDLER.variable())
                                && environment.get(name).equals("0")));
        return from(launchers);
    }

    /**
     * Reads the settings out of a map of environment variables.
     *
     * @throws io.hvd.error.HvdException if a value is bad, or if a variable begins with {@code HOROVOD_} or
     *     {@code HVD_} and is unknown
     */
    public static HvdConfig from(Map<String, String> environment) {
        List<String> notes = new ArrayList<>(OtherVariables.check(environment));
        return read(new SettingReader(environment), environment, notes);
    }

    /** What each setting means to the reader, after all have been read. */
    static SettingReader read(Map<String, String> environment) {
        SettingReader reader = new SettingReader(environment);
        read(reader, environment, new ArrayList<>());
        return reader;
    }

    private static HvdConfig read(SettingReader reader, Map<String, String> environment, List<String> notes) {
        return new HvdConfig(
                reader.choice(Setting.BACKEND, BackendChoice.class),
                reader.path(Setting.OPENMPI_HOME),
                reader.path(Setting.MPI_JAR),
                reader.flag(Setting.MPI_THREADS_DISABLE),
                reader.between(Setting.START_TIMEOUT, 1, LONGEST_START_TIMEOUT),
                reader.text(Setting.CONTROL_INTERFACE),
                EngineSettings.from(reader),
                Math.toIntExact(Math.min(reader.atLeast(Setting.STAGE_BYTES, SMALLEST_STAGE), 1 << 30)),
                reader.flag(Setting.SHARED_MEMORY),
                reader.choice(Setting.ALLREDUCE_ALGORITHM, AllreduceAlgorithm.class),
                GpuSettings.from(reader, notes),
                reader.between(Setting.THREADS, 0, MOST_THREADS),
                StallSettings.from(reader, notes),
                DebugSettings.from(reader),
                reader.path(Setting.FAILURE_DIR),
                reader.text(Setting.LAUNCHER_ADDRESS),
                reader.flag(Setting.TERMINAL),
                reader.choice(Setting.CLASS_ARCHIVE, ArchiveChoice.class),
                LogSettings.from(reader),
                TimelineSettings.from(reader),
                AutotuneSettings.from(reader),
                launcherRank(environment),
                launcherSize(environment),
                SlurmPlace.of(environment),
                ForeignLauncher.of(environment),
                DeclaredJob.of(environment),
                notes);
    }

    public HvdConfig {
        declared = List.copyOf(declared);
        notes = List.copyOf(notes);
    }

    /**
     * This configuration for a program that spreads a model over several GPUs.
     *
     * @param gpus per rank; 0 leaves it as it is
     */
    public HvdConfig withGpusPerRank(int gpus) {
        return gpus == 0 ? this : with(gpu.withPerRank(gpus), stall, debug);
    }

    /** This configuration for a program that has a handler of its own for exceptions that nobody catches. */
    public HvdConfig withoutUncaughtHandler() {
        return with(gpu, stall, debug.withoutUncaughtHandler());
    }

    /**
     * This configuration for a program that says how long a collective may wait.
     *
     * @param time zero leaves it as it is
     */
    public HvdConfig withStallTimeout(Duration time) {
        return time.isZero() ? this : with(gpu, stall.withShutdown(time), debug);
    }

    private HvdConfig with(GpuSettings gpus, StallSettings stalls, DebugSettings debugging) {
        return new HvdConfig(
                backend,
                openMpiHome,
                mpiJar,
                mpiThreadsDisabled,
                startTimeoutSeconds,
                controlInterface,
                engine,
                stageBytes,
                sharedMemory,
                allreduceAlgorithm,
                gpus,
                threadsPerRank,
                stalls,
                debugging,
                failureDirectory,
                launcherAddress,
                terminal,
                classArchive,
                log,
                timeline,
                autotune,
                launcherRank,
                launcherSize,
                slurm,
                foreignLauncher,
                declared,
                notes);
    }

    /** Whether mpirun, srun or the like has started this process. */
    public boolean startedByLauncher() {
        return launcherRank.isPresent();
    }

    /**
     * Whether what this rank prints goes to a terminal. A rank cannot see that from its own output, so horovodrun tells it; without a
     * launcher the name of the open file says it, since {@code System.console()} is there without a terminal from JDK 22 on.
     */
    public boolean printsToTerminal() {
        if (startedByLauncher()) {
            return terminal;
        }
        try {
            String file = Files.readSymbolicLink(Path.of("/proc/self/fd/1")).toString();
            return file.matches("/dev/(pts/\\d+|tty\\w*|console)");
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Why this process must not go on as a job of its own; empty if it may, or need not since a launcher of MPI's is
     * there.
     */
    public Optional<String> whyNotAlone() {
        return startedByLauncher()
                ? Optional.empty()
                : slurm.flatMap(SlurmPlace::whyNotAlone).or(() -> foreignLauncher.map(ForeignLauncher::whyNotAlone));
    }

    /**
     * Why the job that was made is another than the launcher's; empty if it is the same, or this process is to be a job
     * of its own. All ranks find the same.
     *
     * @param process this one's number among all
     * @param nodes the number of the host of every rank
     * @param hosts the name of the host of every rank
     */
    public Optional<String> whyOtherJob(int process, int processes, List<Integer> nodes, List<String> hosts) {
        if (backend == BackendChoice.LOCAL) {
            return Optional.empty();
        }
        int count = (int) nodes.stream().distinct().count();
        List<String> names = hosts.stream().distinct().toList();
        Optional<String> otherThanSlurms =
                startedByLauncher() ? slurm.flatMap(step -> step.whyOtherJob(process, processes)) : Optional.empty();
        return otherThanSlurms.or(() -> declared.stream()
                .flatMap(one -> one.whySmaller(processes, count, names).stream())
                .findFirst());
    }

    /** Whether it has, as far as is known, started others beside this one. */
    public boolean startedWithOthers() {
        return startedByLauncher() && launcherSize.orElse(Integer.MAX_VALUE) > 1;
    }

    /** The component of that name alone, whatever the other settings are. */
    public static OptionalInt launcherRank(Map<String, String> environment) {
        return LAUNCHER_VARIABLES.stream()
                .filter(environment::containsKey)
                .mapToInt(name -> rank(environment.get(name)))
                .findFirst();
    }

    private static OptionalInt launcherSize(Map<String, String> environment) {
        OptionalInt told = LAUNCHER_SIZE_VARIABLES.stream()
                .filter(environment::containsKey)
                .mapToInt(name -> rank(environment.get(name)))
                .filter(size -> size > 0)
                .findFirst();
        return told.isPresent()
                ? told
                : SlurmPlace.of(environment).map(SlurmPlace::tasks).orElse(OptionalInt.empty());
    }

    private static int rank(String text) {
        try {
            return Numerals.wholeInt(text.trim());
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    /** Gives logging its level and its form, for loggers made from now on. */
    public void applyLog() {
        log.apply();
    }

    /** Whether each line that a rank prints begins with its number. */
    public boolean prefixesRank() {
        return log.prefixRank();
    }

    /** Age of a waiting collective from which on its missing ranks are named; zero for never. */
    public Duration stallWarning() {
        return stall.warning();
    }

    /** Age of a waiting collective at which the job ends; zero for never. */
    public Duration stallShutdown() {
        return stall.shutdown();
    }

    /** The time after which a proven deadlock ends the job; zero for never. */
    public Duration standstill() {
        return stall.standstill();
    }

    /** The most bytes of host memory outside the heap that hvd may have in this process; 0 for any number. */
    public long maxBufferBytes() {
        return debug.maxBufferBytes();
    }

    /** Whether the place of each buffer's allocation is kept. */
    public boolean bufferSites() {
        return debug.bufferSites();
    }

    /** Calls that are remembered on each rank. */
    public int flightRecorderCalls() {
        return debug.flightRecorderCalls();
    }

    /** Steps between two comparisons of the ranks' parameters; 0 for none. */
    public int divergenceSteps() {
        return debug.divergenceSteps();
    }

    /** Whether optimizers refuse steps by gradients that are not finite. */
    public boolean refusesNonFinite() {
        return debug.refuseNonFinite();
    }

    /** Whether a thread that ends by an exception ends the job. */
    public boolean handlesUncaught() {
        return debug.uncaughtHandler();
    }

    /** Whether every rank says at init where it runs. */
    public boolean showRanks() {
        return debug.showRanks();
    }

    /** The folder for the report of a hang. */
    public Path reportFolder() {
        return debug.reportFolder();
    }

    /** Whether NCCL's RAS is asked for the report of a hang. */
    public boolean asksNcclRas() {
        return debug.ncclRas();
    }

    /** Whether each rank has a page that tells hvd-top what it is doing. */
    public boolean statusPage() {
        return debug.statusPage();
    }

    public long fusionThresholdBytes() {
        return engine.fusionThresholdBytes();
    }

    public long cycleNanos() {
        return engine.cycleNanos();
    }
}
