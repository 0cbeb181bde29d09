package io.hvd.examples;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.RankBody;
import io.hvd.config.Suggestion;
import io.hvd.error.HvdException;
import io.hvd.examples.cuda.CudaMlpExample;
import io.hvd.examples.demo.AdasumExample;
import io.hvd.examples.demo.EvaluationExample;
import io.hvd.examples.demo.HangExample;
import io.hvd.examples.demo.SamplerExample;
import io.hvd.examples.demo.ToyExample;
import io.hvd.examples.demo.UnevenExample;
import io.hvd.examples.finetune.FinetuneExample;
import io.hvd.examples.gan.GanExample;
import io.hvd.examples.gpu.GpuCheck;
import io.hvd.examples.image.CifarExample;
import io.hvd.examples.image.DigitsExample;
import io.hvd.examples.image.ElasticExample;
import io.hvd.examples.image.ImageNetExample;
import io.hvd.examples.image.MnistCallbacksExample;
import io.hvd.examples.image.MnistExample;
import io.hvd.examples.synthetic.SyntheticExample;
import io.hvd.examples.text.CharLmExample;
import io.hvd.examples.text.TextCnnExample;
import io.hvd.examples.volume.UNetEvalExample;
import io.hvd.examples.volume.UNetExample;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;
import org.apache.commons.cli.help.HelpFormatter;

/**
 * The main class of {@code java -jar train.jar [example] [flags]}. It chooses the example, the first one if none is
 * named, and joins or opens the job in which the example runs, of processes or of threads.
 */
public final class Train {
    private static final int BAD_USAGE = 2;
    private static final String THREADS = "threads";
    private static final List<Example> EXAMPLES = List.of(
            new DigitsExample(),
            new MnistExample(),
            new MnistCallbacksExample(),
            new ElasticExample(),
            new CifarExample(),
            new ImageNetExample(),
            new CharLmExample(),
            new TextCnnExample(),
            new FinetuneExample(),
            new UNetExample(),
            new UNetEvalExample(),
            new GanExample(),
            new SyntheticExample(),
            new CudaMlpExample(),
            new ToyExample(),
            new SamplerExample(),
            new UnevenExample(),
            new HangExample(),
            new AdasumExample(),
            new EvaluationExample(),
            new GpuCheck());

    /** All examples in train.jar; the first one is run if none is named. */
    public static List<Example> examples() {
        return EXAMPLES;
    }

    private final Launcher launcher;
    private final Example example;

    private Train(Launcher launcher, Example example) {
        this.launcher = launcher;
        this.example = example;
    }

    public static void main(String[] args) throws Exception {
        Launcher launcher = Launcher.of(System.getenv());
        int exitCode = run(launcher, args);
        if (exitCode != 0) {
            System.exit(exitCode);
        }
    }

    /** Runs an example and returns the exit code. */
    static int run(Launcher launcher, String... args) throws Exception {
        boolean named = args.length > 0 && !args[0].startsWith("-");
        Example example = named ? byName(args[0]) : EXAMPLES.get(0);
        if (example == null) {
            return badUsage(launcher, unknown(args[0]));
        }
        try {
            return new Train(launcher, example).run(named ? Arrays.copyOfRange(args, 1, args.length) : args);
        } catch (ParseException e) {
            return badUsage(launcher, sentence(example, e));
        }
    }

    private static Example byName(String name) {
        return EXAMPLES.stream()
                .filter(example -> example.name().equals(name))
                .findFirst()
                .orElse(null);
    }

    private static String unknown(String name) {
        List<String> names = EXAMPLES.stream().map(Example::name).toList();
        return "there is no example \"" + name + "\""
                + Suggestion.nearest(name, names)
                        .map(near -> "; did you mean " + near + "?")
                        .orElse(".")
                + " There are " + names;
    }

    private static int badUsage(Launcher launcher, String sentence) {
        launcher.letRankZeroSpeakFirst();
        return end(sentence, BAD_USAGE);
    }

    private static int end(String sentence, int exitCode) {
        System.err.println(sentence);
        Hvd.recordFailure(sentence, exitCode);
        return exitCode;
    }

    private static String sentence(Example example, ParseException mistake) {
        return example.name() + ": " + mistake.getMessage() + "; --help lists the flags";
    }

    private int run(String[] args) throws Exception {
        CommandLine line = new DefaultParser().parse(flags(example), args);
        if (!line.getArgList().isEmpty()) {
            throw new ParseException("unexpected " + line.getArgList());
        }
        if (line.hasOption("help")) {
            help();
            return 0;
        }
        if (!line.hasOption(THREADS)) {
            return runAsProcess(line);
        }
        int threads = threads(line);
        RankBody<Integer> program = example.program(line);
        return Collections.max(Hvd.spawn(threads, example.joining(line), hvd -> runRank(line, program, hvd)));
    }

    private int runAsProcess(CommandLine line) throws Exception {
        Optional<Callable<Integer>> own = example.joinsItself(line);
        if (own.isPresent()) {
            return own.get().call();
        }
        RankBody<Integer> program = example.program(line);
        HvdContext joined;
        try {
            joined = Hvd.init(example.joining(line));
        } catch (HvdException e) {
            return example.refused(line, e);
        }
        try (HvdContext hvd = joined) {
            return runRank(line, program, hvd);
        }
    }

    /** Runs the program on one rank. Rank 0 prints failures before the job closes, which waits for all ranks. */
    private int runRank(CommandLine line, RankBody<Integer> program, HvdContext hvd) throws Exception {
        try {
            LocalRankFlag.difference(line, hvd).ifPresent(System.err::println);
            int exitCode = program.run(hvd);
            if (exitCode != 0 && hvd.rank() == 0) {
                Hvd.recordFailure(example.name() + " has failed; rank 0 has printed the failure", exitCode);
            }
            return exitCode;
        } catch (ParseException e) {
            return end(hvd, sentence(example, e), BAD_USAGE);
        } catch (ExampleFailure e) {
            return end(hvd, example.name() + ": " + e.getMessage(), e.exitCode());
        }
    }

    private static int end(HvdContext hvd, String sentence, int exitCode) {
        return hvd.rank() == 0 ? end(sentence, exitCode) : exitCode;
    }

    private int threads(CommandLine line) throws ParseException {
        if (example.whyNoThreads().isPresent()) {
            throw new ParseException(
                    "--threads is refused: " + example.whyNoThreads().get());
        }
        return Flags.count(line, THREADS, 1, 1);
    }

    /** The flags of an example, with those that every example has. */
    static Options flags(Example example) {
        String meaning = example.whyNoThreads()
                .map(why -> "refused: " + why)
                .orElse("number of ranks that run as threads of this JVM, and of each other JVM that a launcher has"
                        + " started");
        Options flags = example.flags();
        LocalRankFlag.addTo(flags);
        return flags.addOption(Flags.valued(THREADS, meaning)).addOption("h", "help", false, "print this text");
    }

    private void help() throws IOException {
        if (!launcher.speaks()) {
            return;
        }
        System.out.println("examples:");
        EXAMPLES.forEach(each -> System.out.printf(Locale.ROOT, "  %-16s %s%n", each.name(), each.summary()));
        HelpFormatter.builder()
                .setShowSince(false)
                .get()
                .printHelp("java -jar train.jar " + example.name(), "", flags(example), "", true);
    }
}
