package io.hvd.launch.line;

import io.hvd.launch.jvm.InstalledJava;
import io.hvd.launch.jvm.JavaCommand;
import io.hvd.launch.mpi.LauncherParameter;
import io.hvd.launch.mpi.MpiVersion;
import io.hvd.launch.words.Argument;
import io.hvd.launch.words.SecretWords;
import io.hvd.launch.words.ShellWords;
import io.hvd.launch.words.UsageException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The mpirun line of a job: a pure function of settings and facts, every argument with its reason.
 *
 * @param environment what mpirun takes from its environment only
 */
public record MpirunLine(
        String mpirun, List<Argument> arguments, Map<String, String> environment, List<String> command) {

    /** Column of the reasons in {@link #explained}. */
    private static final int WIDTH = 46;

    /** The hosts from which on ssh from host to host costs more than ssh from here to all of them at once. */
    private static final int MANY_HOSTS = 64;

    private static final List<LauncherParameter> SSH_OF_ENVIRONMENT_BESIDE_ARGUMENTS =
            List.of(LauncherParameter.SSH_AGENT, LauncherParameter.KEEP_FULL_NAMES);

    private static final List<LauncherParameter> SSH_OF_ENVIRONMENT =
            List.of(LauncherParameter.SSH_AGENT, LauncherParameter.KEEP_FULL_NAMES, LauncherParameter.SSH_ARGUMENTS);

    /**
     * The line for a job.
     *
     * @param archive words for java about its class-data archive, and why
     * @param installed the Java of the command, if it is one and this machine has it
     * @throws UsageException if the job cannot be started like this
     */
    public static MpirunLine of(String mpirun, LaunchFacts job, Argument archive, Optional<InstalledJava> installed) {
        RankLimit.require(job);
        List<Argument> arguments =
                new ArrayList<>(job.version().startsWithHydra() ? new HydraArguments(job).arguments() : openMpi(job));
        if (!job.settings().words().more().isEmpty()) {
            arguments.add(new Argument(job.settings().words().more(), "--mpi-args"));
        }
        Map<String, String> environment = HydraArguments.environment(job);
        RankCommand command = RankCommand.of(job, archive, installed);
        arguments.addAll(command.notes());
        if (!JavaCommand.isRewritten(job.version(), command.words())) {
            return new MpirunLine(mpirun, List.copyOf(arguments), environment, command.words());
        }
        arguments.add(Argument.note(JavaCommand.reason(command.words())));
        return new MpirunLine(mpirun, List.copyOf(arguments), environment, JavaCommand.untouched(command.words()));
    }

    private static List<Argument> openMpi(LaunchFacts job) {
        List<Argument> arguments = new ArrayList<>();
        if (job.machine().uid() == 0) {
            arguments.add(Argument.of("run by root, which Open MPI refuses otherwise", "--allow-run-as-root"));
        }
        arguments.addAll(new RankPlacement(job).arguments());
        arguments.addAll(new Transports(job).arguments());
        arguments.addAll(ssh(job));
        arguments.addAll(keepalive(job));
        arguments.addAll(prefixes(job));
        arguments.addAll(new Exports(job).arguments());
        return arguments;
    }

    /** The words that are started. */
    public List<String> words() {
        return words(arguments, command);
    }

    /** One argument per line with its reason, then the whole as one line for a shell; values of secrets as asterisks. */
    public String explained() {
        var text = new StringBuilder();
        List<Argument> shown = arguments.stream().map(Argument::withoutSecrets).toList();
        for (Argument argument : shown) {
            String words = ShellWords.join(argument.words());
            String fill = words.length() > WIDTH ? "\n" + " ".repeat(2 + WIDTH) : " ".repeat(WIDTH - words.length());
            text.append("  ")
                    .append(words)
                    .append(fill)
                    .append(" # ")
                    .append(argument.reason())
                    .append('\n');
        }
        return text.append(ShellWords.join(words(shown, SecretWords.hidden(command))))
                .append('\n')
                .toString();
    }

    private List<String> words(List<Argument> these, List<String> program) {
        return Stream.of(
                        Stream.of(mpirun),
                        these.stream().flatMap(argument -> argument.words().stream()),
                        program.stream())
                .flatMap(words -> words)
                .toList();
    }

    private static List<Argument> ssh(LaunchFacts job) {
        List<Argument> arguments = new ArrayList<>();
        List<String> words = job.settings().ssh().words();
        if (!words.isEmpty()) {
            arguments.add(
                    LauncherParameter.SSH_ARGUMENTS.set(job.version(), String.join(" ", words), "ssh as asked for"));
        }
        int hosts = job.settings().hosts().size();
        if (hosts >= MANY_HOSTS) {
            String reason = hosts + " hosts: this machine calls each of them itself";
            arguments.add(LauncherParameter.NO_TREE_SPAWN.set(job.version(), "true", reason));
            arguments.add(
                    LauncherParameter.CALLS_AT_ONCE.set(job.version(), Integer.toString(hosts), "all of them at once"));
        }
        for (LauncherParameter one : words.isEmpty() ? SSH_OF_ENVIRONMENT : SSH_OF_ENVIRONMENT_BESIDE_ARGUMENTS) {
            one.foreign(job.version(), job.machine().environment())
                    .filter(other -> !job.allRanksHere()
                            && job.choices().source(one.name(job.version())).isEmpty())
                    .map(other -> other.argument(job.version()))
                    .ifPresent(arguments::add);
        }
        return arguments;
    }

    /**
     * Open MPI would notice the loss of a host after five minutes of silence and more. It has to notice before the ranks
     * do: once it has told the lost host's daemon to end, the kernel waits for an answer and no longer asks.
     */
    private static List<Argument> keepalive(LaunchFacts job) {
        MpiVersion version = job.version();
        if (job.allRanksHere()
                || job.choices()
                        .source(LauncherParameter.KEEPALIVE_TIME.name(version))
                        .isPresent()) {
            return List.of();
        }
        return List.of(
                LauncherParameter.KEEPALIVE_TIME.set(
                        version, "2", "a host that disappears ends the job: asked after 2 s of silence"),
                LauncherParameter.KEEPALIVE_INTERVAL.set(version, "1", "asked again every second"),
                LauncherParameter.KEEPALIVE_PROBES.set(version, "2", "given up after 2 questions"));
    }

    private static List<Argument> prefixes(LaunchFacts job) {
        if (!job.settings().output().prefixed()) {
            return List.of();
        }
        String reason = "time, rank and stream before each line, as asked for";
        return List.of(
                job.version().startsWithPrrte()
                        ? Argument.of(reason, "--output", "tag,timestamp")
                        : Argument.of(reason, "--tag-output", "--timestamp-output"));
    }
}
