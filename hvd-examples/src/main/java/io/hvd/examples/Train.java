package io.hvd.examples;

import io.hvd.examples.image.DigitsExample;
import io.hvd.examples.image.MnistExample;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.ParseException;
import org.apache.commons.cli.help.HelpFormatter;

/** {@code java -jar train.jar [example] [flags]}: picks the example, the first one if none is named. */
public final class Train {
    private static final int BAD_USAGE = 2;
    private static final List<Example> EXAMPLES = List.of(new DigitsExample(), new MnistExample(), new GpuCheck());

    private Train() {}

    public static void main(String[] args) throws Exception {
        boolean named = args.length > 0 && !args[0].startsWith("-");
        Example example = named ? byName(args[0]) : EXAMPLES.get(0);
        if (example == null) {
            System.err.println("there is no example \"" + args[0] + "\", only "
                    + EXAMPLES.stream().map(Example::name).toList());
            System.exit(BAD_USAGE);
            return;
        }
        try {
            CommandLine line =
                    new DefaultParser().parse(example.flags(), named ? Arrays.copyOfRange(args, 1, args.length) : args);
            if (!line.getArgList().isEmpty()) {
                throw new ParseException("unexpected " + line.getArgList());
            }
            if (line.hasOption("help")) {
                help(example);
            } else {
                example.run(line);
            }
        } catch (ParseException e) {
            System.err.println(example.name() + ": " + e.getMessage() + "; --help lists the flags");
            System.exit(BAD_USAGE);
        }
    }

    private static Example byName(String name) {
        return EXAMPLES.stream()
                .filter(example -> example.name().equals(name))
                .findFirst()
                .orElse(null);
    }

    private static void help(Example example) throws IOException {
        System.out.println("examples:");
        EXAMPLES.forEach(each -> System.out.printf("  %-10s %s%n", each.name(), each.summary()));
        HelpFormatter.builder()
                .setShowSince(false)
                .get()
                .printHelp("java -jar train.jar " + example.name(), "", example.flags(), "", true);
    }
}
