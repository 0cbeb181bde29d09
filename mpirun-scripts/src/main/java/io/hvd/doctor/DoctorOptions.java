package io.hvd.doctor;

import io.hvd.launch.HostSlots;
import io.hvd.launch.SshAccess;
import io.hvd.launch.UsageException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
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

/** Makes settings of hvd-doctor's flags; those it shares with horovodrun mean the same there. */
final class DoctorOptions {

    /** LibTorch's libraries, its tensors for a small net, and what a JVM has beside its heap. */
    private static final String NATIVE = "1g";

    private static final int HIGHEST_PORT = 65_535;
    private static final int MOST_RANKS = 1_000_000;

    private DoctorOptions() {}

    static DoctorSettings parse(String... args) {
        CommandLine line = line(args);
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
                areas(line),
                line.hasOption("json"),
                line.hasOption("self-test"),
                line.hasOption("help"),
                value(line, "facts"));
    }

    static String help() {
        StringBuilder text = new StringBuilder(
                "hvd-doctor [flags]: looks for what keeps a job of hvd from starting or running well\n\n");
        for (Option option : options().getOptions()) {
            if (option.getDescription() != null) {
                text.append(String.format("  %-34s %s%n", spelled(option), option.getDescription()));
            }
        }
        return text.append("\nareas: ")
                .append(words())
                .append("\nexit code: 0 no errors, 1 errors, 2 a flag that cannot be understood\n")
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
            throw new UsageException("flags", e.getMessage() + "; hvd-doctor --help lists the flags");
        }
    }

    private static Options options() {
        return new Options()
                .addOption(valued("H", "hosts", "a:2,b:2", "hosts and their slots (default: this machine)"))
                .addOption(valued(null, "hostfile", "FILE", "hosts, one per line: host slots=N"))
                .addOption(valued("np", "num-proc", "N", "ranks of the job (default: all slots; here, all cores)"))
                .addOption(valued("p", "ssh-port", "PORT", "ssh port of the hosts"))
                .addOption(valued("i", "ssh-identity-file", "FILE", "ssh key for the hosts"))
                .addOption(valued(null, "network-interfaces", "eth0,eth1", "network interfaces to use"))
                .addOption(valued(null, "heap", "SIZE", "a rank's -Xmx, as 4g (default: the JVM's own choice)"))
                .addOption(valued(null, "native", "SIZE", "a rank's memory outside the JVM's heap (default: 1g)"))
                .addOption(valued(null, "only", "AREA,AREA", "look at these areas only"))
                .addOption(plain("self-test", "also run an allreduce of two ranks under mpirun"))
                .addOption(plain("json", "print one JSON object"))
                .addOption(
                        Option.builder("h").longOpt("help").desc("print this").get())
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

    private static Set<Area> areas(CommandLine line) {
        if (!line.hasOption("only")) {
            return EnumSet.allOf(Area.class);
        }
        Set<Area> areas = EnumSet.of(Area.HOSTS, Area.SELF_TEST); // without an answer of the hosts nothing can be said
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

    /** As the JVM reads sizes: a number with k, m, g or t, or bytes. */
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
