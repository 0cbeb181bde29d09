package io.hvd.launch.options;

import io.hvd.config.HvdConfig;
import io.hvd.config.LauncherSettings.ArchiveChoice;
import io.hvd.config.Setting;
import io.hvd.launch.hosts.HostChecks;
import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.hosts.SshAccess;
import io.hvd.launch.mpi.Starter;
import io.hvd.launch.options.LaunchSettings.Action;
import io.hvd.launch.words.ShellWords;
import io.hvd.launch.words.UsageException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Makes settings of the flags: those of the config file first, then those of the command line, which win. */
public final class LaunchOptions {

    private static final int HIGHEST_PORT = 65_535;
    private static final int LONGEST_LIMIT = 1_000_000;

    private final List<FlagValue> given;
    private final Map<String, String> environment;

    private LaunchOptions(List<FlagValue> given, Map<String, String> environment) {
        this.given = given;
        this.environment = environment;
    }

    /** @param environment says what the flags leave open */
    public static LaunchSettings parse(Map<String, String> environment, String... args) {
        CommandWords words = CommandWords.parse(args);
        List<FlagValue> given = new ArrayList<>();
        FlagValue.value(words.flags(), Flag.CONFIG_FILE)
                .ifPresent(file -> given.addAll(ConfigFile.read(Path.of(file))));
        given.addAll(words.flags());
        return new LaunchOptions(given, environment).settings(words.command());
    }

    private LaunchSettings settings(List<String> command) {
        FlagRemarks.refuse(given);
        Action action = action();
        boolean starts = action == Action.RUN || action == Action.DRY_RUN || action == Action.COORDINATE;
        var size = new JobSize(given, environment);
        List<HostSlots> hosts = size.hosts();
        var elastic = new ElasticFlags(given);
        elastic.requireElastic();
        int ranks = starts ? elastic.mayChangeSize() ? elastic.first(size, hosts) : size.ranks(hosts) : 0;
        if (action == Action.COORDINATE) {
            elastic.requireNothingToStart(command);
        } else if (starts) {
            checkCommand(command);
        }
        return new LaunchSettings(
                action,
                elastic.isElastic() ? elastic.starter(starter()) : starter(),
                ranks,
                starts && elastic.isElastic() ? Optional.of(elastic.settings(ranks)) : Optional.empty(),
                starts && elastic.isRestarted() ? Optional.of(elastic.restarts(ranks)) : Optional.empty(),
                hosts,
                ssh(),
                new HostChecks(limitSeconds(), !has(Flag.DISABLE_CACHE)),
                new LaunchSettings.Network(
                        interfaces(),
                        interfaces()
                                .or(here(Setting.CONTROL_INTERFACE).control()::networkInterface)
                                .orElse(""),
                        has(Flag.TCP),
                        here(Setting.PORT_RANGE).control().ports(),
                        here(Setting.TLS).control().encryption()),
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
        if (new ElasticFlags(given).startsNothing()) {
            return Action.COORDINATE;
        }
        return has(Flag.DRY_RUN) ? Action.DRY_RUN : Action.RUN;
    }

    /** A flag counts more than the variables. */
    private Starter starter() {
        if (has(Flag.GLOO) && has(Flag.MPI)) {
            throw new UsageException(
                    "starters", "--gloo starts the ranks without MPI, and --mpi with mpirun; give one of them");
        }
        if (has(Flag.GLOO) || has(Flag.MPI)) {
            return has(Flag.GLOO) ? Starter.HOROVODRUN : Starter.MPIRUN;
        }
        return Starter.of(environment);
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
        return limit(Flag.START_TIMEOUT, Setting.START_TIMEOUT)
                .or(() -> limit(Flag.GLOO_TIMEOUT, Setting.GLOO_TIMEOUT))
                .map(one -> one.number(1, LONGEST_LIMIT))
                .orElse(Integer.parseInt(Setting.START_TIMEOUT.defaultValue()));
    }

    private Optional<FlagValue> limit(Flag flag, Setting setting) {
        return FlagValue.last(given, flag)
                .or(() -> Optional.ofNullable(environment.get(setting.variable()))
                        .filter(text -> !text.isBlank())
                        .map(text -> new FlagValue(flag, text.strip(), setting.variable())));
    }

    private List<String> notes() {
        List<String> notes = new ArrayList<>(FlagRemarks.notes(given));
        limit(Flag.START_TIMEOUT, Setting.START_TIMEOUT)
                .ifPresent(counts -> limit(Flag.GLOO_TIMEOUT, Setting.GLOO_TIMEOUT)
                        .filter(other -> !other.value().equals(counts.value()))
                        .ifPresent(other -> notes.add(counts.origin() + " " + counts.value() + " wins over "
                                + other.origin() + " " + other.value() + ": both limit the start")));
        return notes;
    }

    private ArchiveChoice archive() {
        return has(Flag.NO_CLASS_ARCHIVE)
                ? ArchiveChoice.OFF
                : here(Setting.CLASS_ARCHIVE).launcher().classArchive();
    }

    /** A setting that the launcher itself obeys, among defaults. */
    private HvdConfig here(Setting setting) {
        return HvdConfig.from(Map.of(setting.variable(), environment.getOrDefault(setting.variable(), "")));
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

    private boolean has(Flag flag) {
        return FlagValue.has(given, flag);
    }

    private Optional<String> value(Flag flag) {
        return FlagValue.value(given, flag);
    }
}
