package io.hvd.benchmarks;

import io.hvd.config.Numerals;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;
import org.apache.commons.cli.help.HelpFormatter;

/** {@code java -jar bench.jar <benchmark> [flags]}; the scripts {@code mpirun-scripts/bench-*.sh} call it. */
public final class Bench {
    private static final int BAD_USAGE = 2;
    private static final int FAILED = 1;
    private static final List<Benchmark> ALL = List.of(
            new AllreduceBench(),
            new NetworkBench(),
            new GradientsBench(),
            new TrainingBench(),
            new ScaleBench(),
            new StartBench(),
            new KernelsBench(),
            new ModelBench());

    private Bench() {}

    public static void main(String[] args) throws InterruptedException {
        System.exit(run(args));
    }

    private static int run(String[] args) throws InterruptedException {
        try {
            return switch (args.length == 0 ? "" : args[0]) {
                case "report" -> report(args);
                case "aims" -> aims(args);
                case "examples" -> ExamplesBench.run(System.out, Arrays.copyOfRange(args, 1, args.length));
                default -> measure(args);
            };
        } catch (ParseException e) {
            System.err.println("bench: " + e.getMessage() + "; --help lists the flags");
            return BAD_USAGE;
        } catch (IOException e) {
            System.err.println("bench: " + e.getMessage());
            return FAILED;
        }
    }

    private static int measure(String[] args) throws IOException, ParseException, InterruptedException {
        Benchmark benchmark = named(args);
        String[] flags = Arrays.copyOfRange(args, 1, args.length);
        CommandLine line = new DefaultParser().parse(flags(benchmark), flags);
        if (!line.getArgList().isEmpty()) {
            throw new ParseException("unexpected " + line.getArgList());
        }
        return line.hasOption("help") ? help(benchmark) : run(benchmark, line, String.join(" ", flags));
    }

    private static int report(String[] args) throws IOException, ParseException {
        if (args.length != 3) {
            throw new ParseException("report takes a file of results and the page to write its tables into");
        }
        new ResultPage(Path.of(args[1])).writeInto(Path.of(args[2]));
        return 0;
    }

    private static int aims(String[] args) throws IOException, ParseException {
        if (args.length != 2) {
            throw new ParseException("aims takes a file of results");
        }
        System.out.print(Aims.table(Path.of(args[1])));
        return 0;
    }

    private static int run(Benchmark benchmark, CommandLine line, String flags)
            throws IOException, ParseException, InterruptedException {
        MeasurementPlan plan = plan(benchmark, line);
        System.out.println(MachineLine.line());
        System.out.println(("COMMAND mpirun-scripts/bench-" + benchmark.name() + ".sh " + typed(flags)).strip());
        long begun = System.nanoTime();
        AtomicInteger results = new AtomicInteger();
        benchmark.run(
                plan,
                words -> System.err.printf(Locale.ROOT, "%6.1f s  %s%n", (System.nanoTime() - begun) / 1e9, words),
                result -> {
                    results.incrementAndGet();
                    System.out.println(result.line());
                });
        if (results.get() == 0 && benchmark.measures(plan)) {
            System.err.println("bench: nothing was measured"
                    + (plan.only().isEmpty()
                            ? ""
                            : ": no name contains \"" + plan.only() + "\", which --only asks for"));
            return FAILED;
        }
        return 0;
    }

    /** The flags that the user has typed; the script has added the launcher. */
    private static String typed(String flags) {
        return flags.replaceAll("--launcher \\S+ ?", "");
    }

    private static Benchmark named(String[] args) throws ParseException {
        return ALL.stream()
                .filter(each -> args.length > 0 && each.name().equals(args[0]))
                .findFirst()
                .orElseThrow(() -> new ParseException("name one of "
                        + ALL.stream().map(Benchmark::name).toList() + ", or one of report, aims and examples, first"));
    }

    private static MeasurementPlan plan(Benchmark benchmark, CommandLine line) throws ParseException {
        MeasurementPlan usual = line.hasOption("quick") ? benchmark.quick() : benchmark.usual();
        Map<String, String> own = benchmark.ownFlags().keySet().stream()
                .filter(line::hasOption)
                .collect(Collectors.toMap(Function.identity(), line::getOptionValue));
        return new MeasurementPlan(
                numbers(line, "ranks", usual.ranks(), Numerals::wholeInt),
                numbers(line, "sizes", usual.sizes(), Bench::size),
                numbers(line, "rounds", List.of(usual.rounds()), Numerals::wholeInt)
                        .get(0),
                numbers(line, "repeat", List.of(usual.repeat()), Numerals::wholeInt)
                        .get(0),
                line.getOptionValue("only", usual.only()),
                line.getOptionValue("launcher", usual.launcher()),
                own);
    }

    private static <N extends Number> List<N> numbers(
            CommandLine line, String flag, List<N> usual, Function<String, N> reading) throws ParseException {
        return line.hasOption(flag) ? numbers(flag, line.getOptionValue(flag), reading) : usual;
    }

    /** Reads a comma list of numbers of at least 1. */
    static <N extends Number> List<N> numbers(String flag, String words, Function<String, N> reading)
            throws ParseException {
        List<N> numbers = new ArrayList<>();
        for (String word : words.split(",")) {
            try {
                numbers.add(reading.apply(word));
            } catch (NumberFormatException e) {
                throw new ParseException("--" + flag + " has \"" + word + "\", expected a number");
            }
            if (numbers.get(numbers.size() - 1).longValue() < 1) {
                throw new ParseException("--" + flag + " has \"" + word + "\", expected 1 or more");
            }
        }
        return numbers;
    }

    /** Reads a size, such as {@code 4}, {@code 64K} or {@code 16M}. */
    static Long size(String word) {
        int shift = word.endsWith("K") ? 10 : word.endsWith("M") ? 20 : 0;
        long number = Numerals.whole(shift == 0 ? word : word.substring(0, word.length() - 1));
        if (number > Long.MAX_VALUE >> shift) {
            throw new NumberFormatException("too many bytes");
        }
        return number << shift;
    }

    private static Options flags(Benchmark benchmark) {
        Options flags = new Options()
                .addOption(valued("ranks", "numbers of ranks, such as 2,4"))
                .addOption(valued("sizes", "sizes, such as 4,64K,16M"))
                .addOption(valued("rounds", "number of timings in each launch"))
                .addOption(valued("repeat", "number of launches of each kind, which take turns"))
                .addOption(valued("only", "measure only benchmarks whose name contains this word"))
                .addOption(valued("launcher", "horovodrun that starts the ranks, for start, model and network"))
                .addOption(null, "quick", false, "measure less, in one to two minutes")
                .addOption("h", "help", false, "print this text");
        benchmark.ownFlags().forEach((name, meaning) -> flags.addOption(valued(name, meaning)));
        return flags;
    }

    private static Option valued(String name, String meaning) {
        return Option.builder()
                .longOpt(name)
                .hasArg()
                .argName("VALUE")
                .desc(meaning)
                .get();
    }

    private static int help(Benchmark benchmark) throws IOException {
        System.out.println(benchmark.summary());
        MeasurementPlan usual = benchmark.usual();
        System.out.println("Without flags: --ranks "
                + String.join(",", usual.ranks().stream().map(String::valueOf).toList()) + " --sizes "
                + usual.sizesInWords() + " --rounds " + usual.rounds() + " --repeat " + usual.repeat());
        HelpFormatter.builder()
                .setShowSince(false)
                .get()
                .printHelp("bench-" + benchmark.name() + ".sh", "", flags(benchmark), "", true);
        return 0;
    }
}
