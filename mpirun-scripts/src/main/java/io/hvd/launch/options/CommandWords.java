package io.hvd.launch.options;

import io.hvd.config.Suggestion;
import io.hvd.launch.words.UsageException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.MissingArgumentException;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** The command line taken apart: flags in their order, up to the first word that is none, and the command from there. */
record CommandWords(List<FlagValue> flags, List<String> command) {

    private static final Map<String, Flag> BY_NAME = byName();

    private static final String HOSTS =
            "horovodrun is started once, on one host, and starts the ranks of all: -H a:4,b:4 names the hosts with their ranks";
    private static final String NONE_NEEDED = "the ranks find each other through MPI; leave the flag out";

    /** Replacements for torchrun's flags, which a ported line still has. */
    private static final Map<String, String> TORCHRUN = Map.of(
            "--nproc-per-node",
            "-np is the number of ranks on all hosts together, and -H a:4,b:4 says how many go to each",
            "--nnodes",
            HOSTS,
            "--node-rank",
            HOSTS,
            "--master-addr",
            NONE_NEEDED,
            "--master-port",
            NONE_NEEDED,
            "--rdzv-backend",
            NONE_NEEDED,
            "--rdzv-endpoint",
            NONE_NEEDED,
            "--rdzv-id",
            NONE_NEEDED,
            "--standalone",
            "without -H all ranks run on this host; leave the flag out");

    static CommandWords parse(String... args) {
        CommandLine line = line(args);
        List<String> rest = line.getArgList();
        List<FlagValue> flags = new ArrayList<>();
        for (Option option : line.getOptions()) {
            String[] values = option.getValues();
            String value = values == null ? "" : String.join(" ", values);
            flags.add(new FlagValue(BY_NAME.get(name(option)), value, name(option)));
        }
        // A flag that is refused anyway may have swallowed the command; the refusal says more than the word behind it.
        boolean isRefused = flags.stream().anyMatch(given -> given.flag().effect() instanceof FlagEffect.Refused);
        if (!isRefused && !rest.isEmpty() && rest.get(0).startsWith("-")) {
            throw unknown(rest.get(0).replaceFirst("=.*", ""));
        }
        return new CommandWords(List.copyOf(flags), List.copyOf(rest));
    }

    private static Map<String, Flag> byName() {
        Map<String, Flag> byName = new LinkedHashMap<>();
        for (Flag flag : Flag.values()) {
            flag.names().forEach(name -> byName.put(name, flag));
        }
        return byName;
    }

    private static CommandLine line(String[] args) {
        try {
            return DefaultParser.builder()
                    .setAllowPartialMatching(false)
                    .setStripLeadingAndTrailingQuotes(false)
                    .get()
                    .parse(options(), args, true);
        } catch (MissingArgumentException e) {
            throw new UsageException("flag-without-value", name(e.getOption()) + ": the value is missing");
        } catch (ParseException e) {
            throw new UsageException("flags", e.getMessage());
        }
    }

    /** An option of the parser for every name, since it knows no more than two for one. */
    private static Options options() {
        var options = new Options();
        BY_NAME.forEach((name, flag) -> {
            boolean isLong = name.startsWith("--");
            String bare = name.replaceFirst("^--?", "");
            Option.Builder option = Option.builder(isLong ? null : bare).longOpt(isLong ? bare : null);
            if (flag.effect() instanceof FlagEffect.Refused) {
                option.hasArg().optionalArg(true);
            } else if (flag.takesValue()) {
                option.numberOfArgs(flag == Flag.BLACKLIST_COOLDOWN_RANGE ? 2 : 1);
            }
            options.addOption(option.get());
        });
        return options;
    }

    private static String name(Option option) {
        return option.getLongOpt() == null ? "-" + option.getOpt() : "--" + option.getLongOpt();
    }

    /** The parser takes an unknown flag for the first word of the command; a command never begins with a dash. */
    private static UsageException unknown(String flag) {
        Optional<String> torchruns =
                Optional.ofNullable(TORCHRUN.get(flag.replace('_', '-'))).map(way -> flag + " is torchrun's: " + way);
        if (torchruns.isPresent()) {
            return new UsageException("unknown-flag", torchruns.get());
        }
        return new UsageException(
                "unknown-flag",
                flag + " is not a flag of horovodrun"
                        + Suggestion.nearest(flag, BY_NAME.keySet())
                                .map(near -> "; did you mean " + near + "?")
                                .orElse("; what only mpirun knows goes into --mpi-args=\"...\""));
    }
}
