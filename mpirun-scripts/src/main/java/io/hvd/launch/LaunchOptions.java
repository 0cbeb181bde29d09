package io.hvd.launch;

import io.hvd.config.HvdConfig;
import io.hvd.config.LauncherSettings.ArchiveChoice;
import io.hvd.config.Setting;
import io.hvd.launch.LaunchSettings.Action;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Makes settings of the flags: those of the config file first, then those of the command line, which win. */
final class LaunchOptions {

    private static final String LSF_SLOTS = "LSB_DJOB_NUMPROC";
    private static final int HIGHEST_PORT = 65_535;
    private static final int LONGEST_LIMIT = 1_000_000;

    private final List<FlagValue> given;
    private final Map<String, String> environment;

    private LaunchOptions(List<FlagValue> given, Map<String, String> environment) {
        this.given = given;
        this.environment = environment;
    }

    /** @param environment says what the flags leave open */
    static LaunchSettings parse(Map<String, String> environment, String... args) {
        CommandWords words = CommandWords.parse(args);
        List<FlagValue> given = new ArrayList<>();
        FlagValue.value(words.flags(), Flag.CONFIG_FILE)
                .ifPresent(file -> given.addAll(ConfigFile.read(Path.of(file))));
        given.addAll(words.flags());
        return new LaunchOptions(given, environment).settings(words.command());
    }

    private LaunchSettings settings(List<String> command) {
        refuse();
        Action action = action();
        boolean starts = action == Action.RUN || action == Action.DRY_RUN;
        List<HostSlots> hosts = hosts();
        int ranks = starts ? ranks() : 0;
        if (starts) {
            checkSlots(ranks, hosts);
            checkCommand(command);
        }
        return new LaunchSettings(
                action,
                ranks,
                hosts,
                ssh(),
                new LaunchSettings.Checks(limitSeconds(), !has(Flag.DISABLE_CACHE)),
                new LaunchSettings.Network(interfaces(), has(Flag.TCP)),
                new LaunchSettings.Output(value(Flag.OUTPUT_FILENAME), has(Flag.PREFIX_TIMESTAMP)),
                new LaunchSettings.Words(
                        value(Flag.BINDING_ARGS).map(text -> ShellWords.split("--binding-args", text)),
                        ShellWords.split("--mpi-args", value(Flag.MPI_ARGS).orElse(""))),
                new LaunchSettings.Java(archive(), !has(Flag.NO_JVM_FLAGS)),
                Assignment.of(given),
                notes(),
                has(Flag.VERBOSE),
                command);
    }

    private void refuse() {
        for (FlagValue one : given) {
            if (one.flag().effect() instanceof Flag.Refused refused) {
                throw new UsageException("flag-refused", one.origin() + ": " + refused.why());
            }
        }
    }

    private Action action() {
        if (has(Flag.HELP)) {
            return Action.HELP;
        }
        if (has(Flag.VERSION)) {
            return Action.VERSION;
        }
        if (has(Flag.CHECK_BUILD)) {
            return Action.CHECK_BUILD;
        }
        return has(Flag.DRY_RUN) ? Action.DRY_RUN : Action.RUN;
    }

    private int ranks() {
        return FlagValue.last(given, Flag.NUM_PROC)
                .or(this::slurmTasks)
                .or(() -> Optional.ofNullable(environment.get(LSF_SLOTS))
                        .map(slots -> new FlagValue(Flag.NUM_PROC, slots, LSF_SLOTS)))
                .map(one -> one.number(1, Integer.MAX_VALUE))
                .orElseThrow(() ->
                        new UsageException("np-missing", "-np is missing: say how many ranks to start, as in -np 4"));
    }

    /** As many as srun would start of itself, unless hosts are named. */
    private Optional<FlagValue> slurmTasks() {
        return has(Flag.HOSTS) || has(Flag.HOSTFILE)
                ? Optional.empty()
                : SlurmAllocation.of(environment)
                        .flatMap(job -> job.tasks(environment))
                        .map(tasks -> new FlagValue(Flag.NUM_PROC, tasks.toString(), SlurmAllocation.COUNT));
    }

    private List<HostSlots> hosts() {
        Optional<String> list = value(Flag.HOSTS);
        Optional<String> file = value(Flag.HOSTFILE);
        if (list.isPresent() && file.isPresent()) {
            throw new UsageException(
                    "hosts-twice",
                    "-H " + list.get() + " and --hostfile " + file.get() + " are mutually exclusive; give one of them");
        }
        return list.map(HostSlots::parse)
                .or(() -> file.map(name -> HostSlots.readFile(Path.of(name))))
                .orElse(List.of());
    }

    private void checkSlots(int ranks, List<HostSlots> hosts) {
        int slots = HostSlots.total(hosts);
        if (hosts.isEmpty()) {
            SlurmAllocation.of(environment).ifPresent(job -> checkSlots(ranks, job));
        }
        if (hosts.isEmpty() || ranks <= slots) {
            return;
        }
        String source = value(Flag.HOSTFILE).map(name -> "--hostfile " + name).orElse("-H " + HostSlots.join(hosts));
        throw new UsageException(
                "np-exceeds-slots",
                "-np " + ranks + " requests " + ranks + " ranks, but " + source + " has " + slots + " slots");
    }

    /** mpirun would refuse them too, unless it is told to crowd the nodes. */
    private void checkSlots(int ranks, SlurmAllocation job) {
        int slots = HostSlots.total(job.hosts());
        boolean crowding =
                value(Flag.MPI_ARGS).orElse("").toLowerCase(Locale.ROOT).contains("oversubscribe");
        if (slots > 0 && ranks > slots && !crowding) {
            throw new UsageException(
                    "np-exceeds-slots",
                    "-np " + ranks + " requests " + ranks + " ranks, but " + job.name() + " has " + slots
                            + " slots; ask Slurm for more tasks, by #SBATCH --ntasks-per-node");
        }
    }

    private static void checkCommand(List<String> command) {
        if (command.isEmpty()) {
            throw new UsageException(
                    "command-missing",
                    "no command given: put the program to start after the flags, as in -np 4 java -jar train.jar");
        }
    }

    private SshAccess ssh() {
        Optional<String> identity = value(Flag.SSH_IDENTITY);
        if (identity.isPresent() && identity.get().matches(".*\\s.*")) {
            throw new UsageException(
                    "identity-with-blank",
                    "-i \"" + identity.get() + "\": mpirun takes ssh's words apart at blanks; name the key without");
        }
        return new SshAccess(FlagValue.last(given, Flag.SSH_PORT).map(one -> one.number(1, HIGHEST_PORT)), identity);
    }

    private int limitSeconds() {
        String variable = Setting.START_TIMEOUT.variable();
        return FlagValue.last(given, Flag.START_TIMEOUT)
                .or(() -> Optional.ofNullable(environment.get(variable))
                        .filter(text -> !text.isBlank())
                        .map(text -> new FlagValue(Flag.START_TIMEOUT, text.strip(), variable)))
                .map(one -> one.number(1, LONGEST_LIMIT))
                .orElse(Integer.parseInt(Setting.START_TIMEOUT.defaultValue()));
    }

    private ArchiveChoice archive() {
        String variable = Setting.CLASS_ARCHIVE.variable();
        return has(Flag.NO_CLASS_ARCHIVE)
                ? ArchiveChoice.OFF
                : HvdConfig.from(Map.of(variable, environment.getOrDefault(variable, "")))
                        .launcher()
                        .classArchive();
    }

    private Optional<String> interfaces() {
        List<String> one = FlagValue.values(given, Flag.NETWORK_INTERFACE);
        Optional<String> list = value(Flag.NETWORK_INTERFACES)
                .or(() -> one.isEmpty() ? Optional.empty() : Optional.of(String.join(",", one)));
        list.ifPresent(names -> {
            if (!names.matches("[\\w.:/@-]+(,[\\w.:/@-]+)*")) {
                throw new UsageException(
                        "interface-format",
                        "--network-interfaces " + names + " is not a comma list of interfaces, as in eth0,eth1");
            }
        });
        return list;
    }

    private List<String> notes() {
        List<String> notes = new ArrayList<>();
        for (FlagValue one : given) {
            if (one.flag().effect() instanceof Flag.NoEffect noEffect) {
                checkForm(noEffect.form(), one);
                notes.add(one.origin() + " is accepted and has no effect: " + noEffect.why());
            }
        }
        if (FlagValue.values(given, Flag.NETWORK_INTERFACE).stream().anyMatch(text -> text.contains(","))) {
            notes.add("--network-interface takes one name each time; for a comma list there is --network-interfaces");
        }
        return notes.stream().distinct().toList();
    }

    private static void checkForm(Flag.Form form, FlagValue one) {
        if (form == Flag.Form.NUMBER) {
            one.number(0, Integer.MAX_VALUE);
        }
        if (form == Flag.Form.FRACTION && !one.value().matches("0?\\.\\d+|0|1(\\.0*)?")) {
            throw new UsageException(
                    "out-of-range", one.origin() + " " + one.value() + ": expected a number from 0 to 1");
        }
        if (form == Flag.Form.CORES && !one.value().matches("\\d+(,\\d+)*")) {
            throw new UsageException(
                    "core-list", one.origin() + " " + one.value() + ": expected a comma list of cores, as in 0,2,4");
        }
    }

    private boolean has(Flag flag) {
        return FlagValue.has(given, flag);
    }

    private Optional<String> value(Flag flag) {
        return FlagValue.value(given, flag);
    }
}
