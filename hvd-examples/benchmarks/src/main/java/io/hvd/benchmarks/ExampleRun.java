package io.hvd.benchmarks;

import io.hvd.examples.Example;
import io.hvd.examples.QuickRun;
import io.hvd.examples.Train;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.commons.cli.ParseException;

/**
 * A quick run of an example, in train.jar or in a jar of its own.
 *
 * @param words what follows the jar on the command line
 * @param whyNoThreads why its ranks cannot be threads; empty if they can
 */
record ExampleRun(String name, Path jar, List<String> words, QuickRun run, String whyNoThreads) {
    private static final String DJL = "djl-mnist";

    /**
     * All runs of all examples, or of those that are named.
     *
     * @param root the folder of the project
     * @param only names with commas between them; empty for all
     * @throws ParseException if there is no example of a name
     */
    static List<ExampleRun> all(Path root, String only) throws ParseException {
        List<ExampleRun> all = Stream.concat(
                        Train.examples().stream().flatMap(example -> of(root, example)), Stream.of(djl(root)))
                .toList();
        if (only.isEmpty()) {
            return all;
        }
        List<ExampleRun> chosen = new ArrayList<>();
        for (String name : only.split(",")) {
            List<ExampleRun> named =
                    all.stream().filter(each -> each.name.equals(name)).toList();
            if (named.isEmpty()) {
                throw new ParseException("--only names the example \"" + name + "\", expected some of "
                        + all.stream().map(ExampleRun::name).distinct().toList());
            }
            chosen.addAll(named);
        }
        return chosen;
    }

    private static Stream<ExampleRun> of(Path root, Example example) {
        Path jar = root.resolve("hvd-examples/target/train.jar");
        return example.quickRuns().stream().map(run -> {
            List<String> words = new ArrayList<>(List.of(example.name()));
            words.addAll(run.flags());
            return new ExampleRun(
                    example.name(), jar, words, run, example.whyNoThreads().orElse(""));
        });
    }

    /** DJL has a LibTorch of its own and so a jar of its own, whose only example has no name there. */
    private static ExampleRun djl(Path root) {
        QuickRun run = QuickRun.of("--epochs 1 --train-images 2048 --test-images 512");
        return new ExampleRun(DJL, root.resolve("hvd-examples/djl/target/djl.jar"), run.flags(), run, "");
    }

    /** The words of its row, without the jar. */
    String title() {
        return words.equals(run.flags()) ? name + " " + String.join(" ", words) : String.join(" ", words);
    }

    /** Why it is not run in this way; empty if it is. */
    String whyNot(int ranks, boolean threads, boolean gpus) {
        if (!run.leftOut().isEmpty()) {
            return run.leftOut();
        }
        if (run.needsGpu() && !gpus) {
            return "it needs a GPU, and nvidia-smi lists none here";
        }
        if (ranks < run.leastRanks()) {
            return "it needs " + run.leastRanks() + " ranks";
        }
        return threads ? whyNoThreads : "";
    }

    /** The command line. @param launcher horovodrun */
    List<String> command(String launcher, int ranks, boolean threads) {
        List<String> command = new ArrayList<>();
        if (!threads) {
            command.addAll(List.of(launcher, "-np", String.valueOf(ranks)));
        }
        command.addAll(List.of("java", "-jar", jar.toString()));
        command.addAll(words);
        if (threads) {
            command.addAll(List.of("--threads", String.valueOf(ranks)));
        }
        return command;
    }
}
