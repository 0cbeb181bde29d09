package io.hvd.doctor;

import io.hvd.config.HvdProgram;
import io.hvd.doctor.checks.Area;
import io.hvd.launch.hosts.HostSlots;
import io.hvd.launch.hosts.SshAccess;
import io.hvd.launch.mpi.Starter;
import io.hvd.launch.words.UsageException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** Parses hvd-doctor's flags. Flags that horovodrun has too mean the same in both programs. */
final class DoctorOptions {

    /** Default of {@code --native}: LibTorch's libraries, the tensors of a small net, and the JVM outside its heap. */
    private static final String NATIVE = "1g";

    private static final int HIGHEST_PORT = 65_535;
    private static final int MOST_RANKS = 1_000_000;

    private DoctorOptions() {}

    /** @param starter what starts the ranks where no flag says it */
    static DoctorSettings parse(Starter starter, String... args) {
        CommandLine line = line(args);
        boolean gloo = line.hasOption("gloo") || starter == Starter.HOROVODRUN;
        if (!line.getArgList().isEmpty()) {
            throw new UsageException(
                    "unknown-word", line.getArgList().get(0) + " is not a flag of hvd-doctor, which takes no command");
        }
        List<HostSlots> hosts = hosts(line);
        OptionalInt ranks = number(line, "np", 1, MOST_RANKS);
        int slots = HostSlots.total(hosts);
        if (!hosts.isEmpty() && ranks.orElse(0) > slots) {
            throw new UsageException(
                    "np-exceeds-slots",
                    "-np " + ranks.getAsInt() + ", but " + HostSlots.join(hosts) + " has " + slots + " slots");
        }
        return new DoctorSettings(
                hosts,
                ranks,
                ssh(line),
                interfaces(line),
                value(line, "heap").map(text -> bytes("--heap", text)).orElse(OptionalLong.empty()),
                bytes("--native", line.getOptionValue("native", NATIVE)).getAsLong(),
                areas(line, gloo),
                gloo,
                line.hasOption("json"),
                line.hasOption("self-test"),
                line.hasOption("help"),
                value(line, "facts"));
    }

    static String help() {
        StringBuilder text = new StringBuilder("usage: " + HvdProgram.DOCTOR.line() + " [flags]\n\n"
                + "Looks for whatever keeps a job of hvd from starting or from running well.\n\n");
        for (Option option : options().getOptions()) {
            if (option.getDescription() != null) {
                text.append(String.format(Locale.ROOT, "  %-34s %s%n", spelled(option), option.getDescription()));
            }
        }
        return text.append("\nThe areas are ")
                .append(words())
                .append(
                        ".\nThe exit code is 0 if there is no error, 1 if there is one, 2 if a flag cannot be understood.\n")
                .toString();
    }

    private static String spelled(Option option) {
        String name = option.getOpt() == null ? "" : "-" + option.getOpt();
        String both =
                name + (option.getLongOpt() == null ? "" : (name.isEmpty() ? "" : ", ") + "--" + option.getLongOpt());
        return option.hasArg() ? both + " " + option.getArgName() : both;
    }

    private static CommandLine line(String... args) {
        try {
            return DefaultParser.builder().setAllowPartialMatching(false).get().parse(options(), args);
        } catch (ParseException e) {
            throw new UsageException(
                    "flags", e.getMessage() + "; " + HvdProgram.DOCTOR.line() + " --help lists the flags");
        }
    }

    private static Options options() {
        return new Options()
                .addOption(valued(
                        "H", "hosts", "a:2,b:2", "Hosts and the number of slots on each. The default is this machine."))
                .addOption(valued(null, "hostfile", "FILE", "File that names one host per line, as in: host slots=N"))
                .addOption(valued(
                        "np",
                        "num-proc",
                        "N",
                        "Number of ranks. The default is all slots, or all cores of this machine."))
                .addOption(valued("p", "ssh-port", "PORT", "Port of the ssh server on the hosts."))
                .addOption(valued("i", "ssh-identity-file", "FILE", "Private key with which ssh logs in to the hosts."))
                .addOption(valued(null, "network-interfaces", "eth0,eth1", "Network interfaces to use."))
                .addOption(valued(
                        null, "heap", "SIZE", "Heap of a rank (-Xmx), as in 4g. The default is the JVM's own choice."))
                .addOption(valued(
                        null,
                        "native",
                        "SIZE",
                        "Memory of a rank outside the heap and hvd's buffers. The default is 1g."))
                .addOption(valued(null, "only", "AREA,AREA", "Examine only these areas, and whether the hosts answer."))
                .addOption(plain("gloo", "Examine for ranks that horovodrun --gloo starts, which need no MPI."))
                .addOption(plain("self-test", "Also run an allreduce of two ranks under horovodrun."))
                .addOption(plain("json", "Print the report as one JSON object."))
                .addOption(Option.builder("h")
                        .longOpt("help")
                        .desc("Print this help.")
                        .get())
                .addOption(valued(null, "facts", "PATH", null));
    }

    private static Option valued(String letter, String name, String value, String meaning) {
        return Option.builder(letter)
                .longOpt(name)
                .hasArg()
                .argName(value)
                .desc(meaning)
                .get();
    }

    private static Option plain(String name, String meaning) {
        return Option.builder().longOpt(name).desc(meaning).get();
    }

    private static List<HostSlots> hosts(CommandLine line) {
        if (line.hasOption("H") && line.hasOption("hostfile")) {
            throw new UsageException("hosts-twice", "-H and --hostfile are mutually exclusive; give one of them");
        }
        return value(line, "H")
                .map(HostSlots::parse)
                .or(() -> value(line, "hostfile").map(file -> HostSlots.readFile(Path.of(file))))
                .orElse(List.of());
    }

    private static SshAccess ssh(CommandLine line) {
        OptionalInt port = number(line, "p", 1, HIGHEST_PORT);
        return new SshAccess(port.isPresent() ? Optional.of(port.getAsInt()) : Optional.empty(), value(line, "i"));
    }

    private static String interfaces(CommandLine line) {
        String list = line.getOptionValue("network-interfaces", "");
        if (!list.matches("|[\\w.:/@-]+(,[\\w.:/@-]+)*")) {
            throw new UsageException(
                    "interface-format",
                    "--network-interfaces " + list + " is not a comma list of interfaces, as in eth0,eth1");
        }
        return list;
    }

    private static Set<Area> areas(CommandLine line, boolean gloo) {
        if (!line.hasOption("only")) {
            Set<Area> all = EnumSet.allOf(Area.class);
            all.remove(gloo ? Area.MPI : Area.START);
            return all;
        }
        Set<Area> areas = EnumSet.of(Area.HOSTS, Area.SELF_TEST); // a host that does not answer cannot be examined
        for (String word : line.getOptionValue("only").split(",")) {
            areas.add(Arrays.stream(Area.values())
                    .filter(area -> area.word().equals(word.strip()))
                    .findFirst()
                    .orElseThrow(() -> new UsageException(
                            "unknown-area", "--only " + word + ": there is no such area; expected " + words())));
        }
        return areas;
    }

    private static String words() {
        return Arrays.stream(Area.values()).map(Area::word).collect(Collectors.joining(", "));
    }

    /** Reads a size as the JVM does: a number of bytes, or a number followed by k, m, g or t. */
    private static OptionalLong bytes(String flag, String text) {
        if (!text.matches("\\d{1,9}[kKmMgGtT]?")) {
            throw new UsageException("size-format", flag + " " + text + " is not a size, as in 512m or 4g");
        }
        int shift = 10 * ("kmgt".indexOf(Character.toLowerCase(text.charAt(text.length() - 1))) + 1);
        return OptionalLong.of(Long.parseLong(text.replaceAll("\\D", "")) << shift);
    }

    private static OptionalInt number(CommandLine line, String flag, int least, int most) {
        Optional<String> text = value(line, flag);
        if (text.isEmpty()) {
            return OptionalInt.empty();
        }
        if (!text.get().matches("\\d{1,9}")
                || Integer.parseInt(text.get()) < least
                || Integer.parseInt(text.get()) > most) {
            throw new UsageException(
                    "out-of-range",
                    "-" + flag + " " + text.get() + ": expected a whole number from " + least + " to " + most);
        }
        return OptionalInt.of(Integer.parseInt(text.get()));
    }

    private static Optional<String> value(CommandLine line, String flag) {
        return Optional.ofNullable(line.getOptionValue(flag));
    }
}
