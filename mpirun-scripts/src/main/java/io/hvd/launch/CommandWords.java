package io.hvd.launch;

import io.hvd.config.Suggestion;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.MissingArgumentException;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** The command line taken apart: flags in their order, up to the first word that is none, and the command from there. */
record CommandWords(List<FlagValue> flags, List<String> command) {

    private static final Map<String, Flag> BY_NAME = byName();

    static CommandWords parse(String... args) {
        CommandLine line = line(args);
        List<String> rest = line.getArgList();
        if (!rest.isEmpty() && rest.get(0).startsWith("-")) {
            throw unknown(rest.get(0).replaceFirst("=.*", ""));
        }
        List<FlagValue> flags = new ArrayList<>();
        for (Option option : line.getOptions()) {
            String value = option.getValue();
            flags.add(new FlagValue(BY_NAME.get(name(option)), value == null ? "" : value, name(option)));
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
            if (flag.effect() instanceof Flag.Refused) {
                option.hasArg().optionalArg(true);
            } else if (flag.takesValue()) {
                option.hasArg();
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
        return new UsageException(
                "unknown-flag",
                flag + " is not a flag of horovodrun"
                        + Suggestion.nearest(flag, BY_NAME.keySet())
                                .map(near -> "; did you mean " + near + "?")
                                .orElse("; what only mpirun knows goes into --mpi-args=\"...\""));
    }
}
