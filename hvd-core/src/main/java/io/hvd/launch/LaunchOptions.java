package io.hvd.launch;

import io.hvd.config.Suggestion;
import io.hvd.launch.LaunchSettings.Action;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.MissingArgumentException;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** The flags of horovodrun: parsed up to the first word that is none, checked, and turned into settings. */
final class LaunchOptions {

    /** Flags a Horovod user may bring along that this version does not carry out. */
    private static final Set<String> LATER = Set.of(
            "--disable-cache",
            "--start-timeout",
            "--network-interface",
            "--config-file",
            "--fusion-threshold-mb",
            "--cycle-time-ms",
            "--cache-capacity",
            "--hierarchical-allreduce",
            "--no-hierarchical-allreduce",
            "--hierarchical-allgather",
            "--no-hierarchical-allgather",
            "--torus-allreduce",
            "--no-torus-allreduce",
            "--autotune",
            "--no-autotune",
            "--autotune-log-file",
            "--autotune-warmup-samples",
            "--autotune-steps-per-sample",
            "--autotune-bayes-opt-max-samples",
            "--autotune-gaussian-process-noise",
            "--min-np",
            "--min-num-proc",
            "--max-np",
            "--max-num-proc",
            "--slots-per-host",
            "--elastic-timeout",
            "--reset-limit",
            "--blacklist-cooldown-range",
            "--host-discovery-script",
            "--timeline-filename",
            "--timeline-mark-cycles",
            "--no-timeline-mark-cycles",
            "--no-stall-check",
            "--stall-check",
            "--stall-check-warning-time-seconds",
            "--stall-check-shutdown-time-seconds",
            "--mpi-threads-disable",
            "--no-mpi-threads-disable",
            "--tcp",
            "--num-nccl-streams",
            "--binding-args",
            "--thread-affinity",
            "--gloo-timeout-seconds",
            "--log-level",
            "--log-with-timestamp",
            "--log-without-timestamp",
            "--log-hide-timestamp",
            "--no-log-hide-timestamp",
            "-prefix-timestamp",
            "--prefix-output-with-timestamp",
            "--gloo",
            "--mpi",
            "--jsrun");

    private static final Options FLAGS = flags();

    private LaunchOptions() {}

    static LaunchSettings parse(String... args) {
        CommandLine line = commandLine(args);
        refuseLater(line);
        refuseUnknown(line.getArgList());
        Action action = action(line);
        boolean starts = action == Action.RUN || action == Action.DRY_RUN;
        int ranks = starts ? ranks(line) : 0;
        List<HostSlots> hosts = hosts(line);
        if (starts) {
            checkSlots(ranks, hosts, line);
            checkCommand(line);
        }
        return new LaunchSettings(
                action,
                ranks,
                hosts,
                value(line, "p").map(text -> number("-p", text, 65_535)),
                value(line, "i"),
                value(line, "network-interfaces"),
                value(line, "output-filename"),
                ShellWords.split(value(line, "mpi-args").orElse("")),
                line.hasOption("verbose"),
                List.copyOf(line.getArgList()));
    }

    /** One line per flag. */
    static String help() {
        var text = new StringBuilder("usage: horovodrun -np N [flags] command [arguments]\n\n");
        for (Option flag : FLAGS.getOptions()) {
            text.append(String.format("  %-40s %s%n", spelling(flag), flag.getDescription()));
        }
        return text + "\nFlags stand before the command; everything from the command on belongs to it.\n";
    }

    /** The parser must know the later flags too: it would read -prefix-timestamp as -p with a value. */
    private static Options flagsAndLater() {
        Options all = flags();
        for (String flag : LATER) {
            String name = flag.replaceFirst("^--?", "");
            all.addOption(flag.startsWith("--") ? optional(null, name) : optional(name, null));
        }
        return all;
    }

    private static Option optional(String shortName, String longName) {
        return Option.builder(shortName)
                .longOpt(longName)
                .optionalArg(true)
                .hasArg()
                .get();
    }

    private static Options flags() {
        return new Options()
                .addOption(valued("np", "num-proc", "N", "number of ranks to start"))
                .addOption(valued("H", "hosts", "a:2,b:2", "hosts and their slots (default: this machine)"))
                .addOption(valued("hostfile", "hostfile", "FILE", "hosts, one per line: host slots=N"))
                .addOption(valued("p", "ssh-port", "PORT", "ssh port of the hosts"))
                .addOption(valued("i", "ssh-identity-file", "FILE", "ssh key for the hosts"))
                .addOption(valued(null, "network-interfaces", "eth0,eth1", "network interfaces to use"))
                .addOption(valued(null, "output-filename", "DIR", "folder for one output file per rank"))
                .addOption(valued(null, "mpi-args", "\"...\"", "words for mpirun itself; they win over ours"))
                .addOption(plain(null, "dry-run", "print the mpirun line with its reasons, start nothing"))
                .addOption(plain(null, "verbose", "print the mpirun line with its reasons, then run it"))
                .addOption(plain("cb", "check-build", "print what this installation has"))
                .addOption(plain("v", "version", "print the version"))
                .addOption(plain("h", "help", "print this"));
    }

    private static Option valued(String shortName, String longName, String value, String description) {
        return Option.builder(shortName)
                .longOpt(longName)
                .hasArg()
                .argName(value)
                .desc(description)
                .get();
    }

    private static Option plain(String shortName, String longName, String description) {
        return Option.builder(shortName).longOpt(longName).desc(description).get();
    }

    private static String spelling(Option flag) {
        String value = flag.hasArg() ? " " + flag.getArgName() : "";
        return flag.getOpt() == null ? "--" + flag.getLongOpt() + value : shortAndLong(flag) + value;
    }

    private static String shortAndLong(Option flag) {
        return "-" + flag.getOpt() + ", --" + flag.getLongOpt();
    }

    private static CommandLine commandLine(String[] args) {
        try {
            return DefaultParser.builder()
                    .setAllowPartialMatching(false)
                    .setStripLeadingAndTrailingQuotes(false)
                    .get()
                    .parse(flagsAndLater(), args, true);
        } catch (MissingArgumentException e) {
            throw new UsageException("flag-without-value", spelling(e.getOption()) + ": the value is missing");
        } catch (ParseException e) {
            throw new UsageException("flags", e.getMessage());
        }
    }

    private static void refuseLater(CommandLine line) {
        for (String flag : LATER) {
            if (line.hasOption(flag)) {
                throw new UsageException("flag-not-there-yet", flag + " is not there yet");
            }
        }
    }

    /** The parser takes an unknown flag for the first word of the command; a command never begins with a dash. */
    private static void refuseUnknown(List<String> rest) {
        if (rest.isEmpty() || !rest.get(0).startsWith("-")) {
            return;
        }
        String flag = rest.get(0).replaceFirst("=.*", "");
        throw new UsageException(
                "unknown-flag",
                flag + " is not a flag of horovodrun"
                        + Suggestion.nearest(flag, known())
                                .map(near -> "; did you mean " + near + "?")
                                .orElse("; what only mpirun knows goes into --mpi-args=\"...\""));
    }

    private static Set<String> known() {
        Set<String> names = new TreeSet<>(LATER);
        for (Option flag : FLAGS.getOptions()) {
            names.add("--" + flag.getLongOpt());
            if (flag.getOpt() != null) {
                names.add("-" + flag.getOpt());
            }
        }
        return names;
    }

    private static Action action(CommandLine line) {
        if (line.hasOption("help")) {
            return Action.HELP;
        }
        if (line.hasOption("version")) {
            return Action.VERSION;
        }
        if (line.hasOption("check-build")) {
            return Action.CHECK_BUILD;
        }
        return line.hasOption("dry-run") ? Action.DRY_RUN : Action.RUN;
    }

    private static int ranks(CommandLine line) {
        return value(line, "np")
                .map(text -> number("-np", text, Integer.MAX_VALUE))
                .orElseThrow(() ->
                        new UsageException("np-missing", "-np is missing: say how many ranks to start, as in -np 4"));
    }

    private static List<HostSlots> hosts(CommandLine line) {
        Optional<String> list = value(line, "H");
        Optional<String> file = value(line, "hostfile");
        if (list.isPresent() && file.isPresent()) {
            throw new UsageException(
                    "hosts-twice",
                    "-H " + list.get() + " and --hostfile " + file.get() + " are mutually exclusive; give one of them");
        }
        return list.map(HostSlots::parse)
                .or(() -> file.map(name -> HostSlots.readFile(Path.of(name))))
                .orElse(List.of());
    }

    private static void checkSlots(int ranks, List<HostSlots> hosts, CommandLine line) {
        int slots = HostSlots.total(hosts);
        if (hosts.isEmpty() || ranks <= slots) {
            return;
        }
        String source =
                value(line, "hostfile").map(name -> "--hostfile " + name).orElse("-H " + HostSlots.join(hosts));
        throw new UsageException(
                "np-exceeds-slots",
                "-np " + ranks + " requests " + ranks + " ranks, but " + source + " has " + slots + " slots");
    }

    private static void checkCommand(CommandLine line) {
        if (line.getArgList().isEmpty()) {
            throw new UsageException(
                    "command-missing",
                    "no command given: put the program to start after the flags, as in -np 4 java -jar train.jar");
        }
    }

    private static int number(String flag, String text, int limit) {
        try {
            int number = Integer.parseInt(text);
            if (number >= 1 && number <= limit) {
                return number;
            }
        } catch (NumberFormatException e) {
            throw new UsageException("not-a-number", flag + " " + text + ": \"" + text + "\" is not a whole number");
        }
        throw new UsageException(
                "out-of-range",
                flag + " " + text + ": expected at least 1"
                        + (limit == Integer.MAX_VALUE ? "" : " and at most " + limit));
    }

    /** The last one given wins, so that a wrapper's default can be overridden. */
    private static Optional<String> value(CommandLine line, String flag) {
        String[] values = line.getOptionValues(flag);
        return values == null ? Optional.empty() : Optional.of(values[values.length - 1]);
    }
}
