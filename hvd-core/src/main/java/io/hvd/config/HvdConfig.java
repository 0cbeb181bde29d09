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

/**
 * All settings of a job, read from the environment once and checked, in records for those who read them.
 *
 * @param notes what the user should know of the settings, to be logged once, by rank 0
 */
public record HvdConfig(
        BackendChoice backend,
        Optional<String> transport,
        ControlSettings control,
        MpiSettings mpi,
        MemorySettings memory,
        EngineSettings engine,
        GpuSettings gpu,
        MonitorOptions monitor,
        TrainingSettings optimizer,
        ProcessSettings process,
        LauncherSettings launcher,
        TimelineSettings timeline,
        AutotuneSettings autotune,
        LauncherFacts started,
        List<String> notes) {

    private static final String TRANSPORT = "transport:";

    /** The back end to open. */
    public enum BackendChoice {
        AUTO,
        LOCAL,
        MPI,
        TCP,
        NCCL
    }

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
                        && !name.equals(Setting.TLS.variable())
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

    /** A reader that has read all settings and knows the meaning of each. */
    static SettingReader read(Map<String, String> environment) {
        SettingReader reader = new SettingReader(environment);
        read(reader, environment, new ArrayList<>());
        return reader;
    }

    private static HvdConfig read(SettingReader reader, Map<String, String> environment, List<String> notes) {
        Optional<String> transport = reader.after(TRANSPORT, Setting.BACKEND);
        return new HvdConfig(
                transport.isPresent() ? BackendChoice.AUTO : backend(reader),
                transport,
                ControlSettings.from(reader),
                MpiSettings.from(reader),
                MemorySettings.from(reader),
                EngineSettings.from(reader),
                GpuSettings.from(reader, notes),
                MonitorOptions.from(reader, notes),
                TrainingSettings.from(reader),
                ProcessSettings.from(reader),
                LauncherSettings.from(reader),
                TimelineSettings.from(reader),
                AutotuneSettings.from(reader),
                LauncherFacts.of(environment),
                notes);
    }

    private static BackendChoice backend(SettingReader reader) {
        return reader.choice(Setting.BACKEND, BackendChoice.class, ", " + TRANSPORT + "NAME");
    }

    public HvdConfig {
        notes = List.copyOf(notes);
    }

    /**
     * This configuration for a program that spreads a model over several GPUs.
     *
     * @param gpus per rank; 0 leaves it as it is
     */
    public HvdConfig withGpusPerRank(int gpus) {
        return gpus == 0 ? this : with(gpu.withPerRank(gpus), monitor, process);
    }

    /** This configuration for a program that has a handler of its own for exceptions that nobody catches. */
    public HvdConfig withoutUncaughtHandler() {
        return with(gpu, monitor, process.withoutUncaughtHandler());
    }

    /**
     * This configuration for a program that says how long a collective may wait.
     *
     * @param time zero leaves it as it is
     */
    public HvdConfig withStallTimeout(Duration time) {
        return time.isZero() ? this : with(gpu, monitor.withStallTimeout(time), process);
    }

    private HvdConfig with(GpuSettings gpus, MonitorOptions monitoring, ProcessSettings processes) {
        return new HvdConfig(
                backend,
                transport,
                control,
                mpi,
                memory,
                engine,
                gpus,
                monitoring,
                optimizer,
                processes,
                launcher,
                timeline,
                autotune,
                started,
                notes);
    }

    /**
     * Whether what this rank prints goes to a terminal. A rank cannot see that from its own output, so horovodrun tells it; without a
     * launcher the name of the open file says it, since {@code System.console()} is there without a terminal from JDK 22 on.
     */
    public boolean printsToTerminal() {
        if (started.byLauncher()) {
            return launcher.terminal();
        }
        try {
            String file = Files.readSymbolicLink(Path.of("/proc/self/fd/1")).toString();
            return file.matches("/dev/(pts/\\d+|tty\\w*|console)");
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Why the job that was made is another than the launcher's; empty if it is the same, or this process is to be a job
     * of its own. All ranks find the same.
     *
     * @param number this one's number among all
     * @param nodes the number of the host of every rank
     * @param hosts the name of the host of every rank
     */
    public Optional<String> whyOtherJob(int number, int processes, List<Integer> nodes, List<String> hosts) {
        return backend == BackendChoice.LOCAL ? Optional.empty() : started.whyOtherJob(number, processes, nodes, hosts);
    }
}
