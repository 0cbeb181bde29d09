package io.hvd.launch.setup;

import io.hvd.config.HvdProgram;
import io.hvd.launch.words.UsageException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/**
 * What the user asked of the set-up.
 *
 * @param install whether missing packages may be installed
 * @param repository the Maven repository of mpi.jar; empty for the one in which hvd looks
 */
record SetupOptions(boolean install, Optional<Path> repository, boolean help) {

    static SetupOptions parse(String... args) {
        CommandLine line = line(args);
        if (!line.getArgList().isEmpty()) {
            throw new UsageException("unknown-word", line.getArgList().get(0) + " is not a flag of setup");
        }
        return new SetupOptions(
                line.hasOption("install"),
                Optional.ofNullable(line.getOptionValue("repository"))
                        .map(Path::of)
                        .map(Path::toAbsolutePath),
                line.hasOption("help"));
    }

    static String helpText() {
        var text = new StringBuilder("usage: " + HvdProgram.SETUP.lineOfJar() + " [flags]\n\n"
                + "Makes mpi.jar, Open MPI's Java bindings, for the Open MPI of this machine: the one that"
                + " HVD_OPENMPI_HOME names,\nor else the mpirun on PATH. What is there already is left as it is.\n\n");
        for (Option option : options().getOptions()) {
            text.append(String.format(Locale.ROOT, "  %-22s %s%n", spelled(option), option.getDescription()));
        }
        return text.append(
                        "\nThe exit code is 0 if mpi.jar is there, 1 if something is missing that the message names,")
                .append(" 2 if a flag cannot be understood.\n")
                .toString();
    }

    private static CommandLine line(String... args) {
        try {
            return DefaultParser.builder().setAllowPartialMatching(false).get().parse(options(), args);
        } catch (ParseException e) {
            throw new UsageException(
                    "flags", e.getMessage() + "; " + HvdProgram.SETUP.lineOfJar() + " --help lists the flags");
        }
    }

    private static Options options() {
        return new Options()
                .addOption(flag("install", "Install missing packages by apt-get. This needs root."))
                .addOption(Option.builder()
                        .longOpt("repository")
                        .hasArg()
                        .argName("FOLDER")
                        .desc("Local Maven repository for mpi.jar. The default is the one in which hvd looks for it.")
                        .get())
                .addOption(Option.builder("h")
                        .longOpt("help")
                        .desc("Print this help.")
                        .get());
    }

    private static Option flag(String name, String meaning) {
        return Option.builder().longOpt(name).desc(meaning).get();
    }

    private static String spelled(Option option) {
        String name = (option.getOpt() == null ? "" : "-" + option.getOpt() + ", ") + "--" + option.getLongOpt();
        return option.hasArg() ? name + " " + option.getArgName() : name;
    }
}
