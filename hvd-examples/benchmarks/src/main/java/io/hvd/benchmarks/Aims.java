package io.hvd.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The aims of hvd's speed on a machine of two cores, held against the results of a run as a table. */
final class Aims {
    private static final String ALONE = "processes-without-communication]";
    private static final String DDP = "[ddp-reducer,gloo]";
    private static final String RAW = "hvd[raw-collective]";
    private static final String UNCOMPRESSED = "hvd[uncompressed]";

    static final List<Aim> ALL = all();

    private Aims() {}

    private static List<Aim> all() {
        List<Aim> aims = new ArrayList<>(List.of(
                Aim.millis("start, 4 ranks: all initialised", "start-init", 4, 800),
                Aim.millis("start, 4 ranks: first step ended", "start-step", 4, 2500),
                Aim.ratio("MNIST step, 2 ranks: share of processes alone", "training-mnist", 2, 0, ALONE, 0.95),
                Aim.ratio("MNIST step, 2 ranks: against the DDP reducer", "training-mnist", 2, 0, DDP, 1),
                Aim.ratio("ResNet-18 step, 2 ranks: share of processes alone", "training-resnet", 2, 0, ALONE, 0.97),
                Aim.ratio("ResNet-18 step, 2 ranks: against the DDP reducer", "training-resnet", 2, 0, DDP, 1)));
        for (String memory : List.of("heap", "torch")) {
            aims.add(Aim.millis("ResNet-50's gradients, 2 ranks, " + memory, "gradients-resnet50-" + memory, 2, 20));
            aims.add(Aim.millis("ResNet-50's gradients, 4 ranks, " + memory, "gradients-resnet50-" + memory, 4, 55));
            aims.add(Aim.millis("400 x 4 KiB, 2 ranks, " + memory, "gradients-400x4KiB-" + memory, 2, 0.4));
            aims.add(Aim.millis("400 x 4 KiB, 4 ranks, " + memory, "gradients-400x4KiB-" + memory, 4, 1.2));
        }
        for (long bytes = 256 << 10; bytes <= 16 << 20; bytes *= 4) {
            aims.add(Aim.ratio(
                    "call through the engine, 2 ranks, " + (bytes >> 10) + " KiB: against the collective alone",
                    "allreduce-engine",
                    2,
                    bytes,
                    RAW,
                    0.9));
        }
        for (long bytes : List.of(1L << 20, 16L << 20)) {
            aims.add(Aim.ratio(
                    "fp16 on one host, 2 ranks, " + (bytes >> 20) + " MiB: against float32",
                    "allreduce-fp16",
                    2,
                    bytes,
                    UNCOMPRESSED,
                    0.9));
        }
        return List.copyOf(aims);
    }

    /**
     * The table of a run.
     *
     * @param file what the benchmarks have printed
     * @throws IOException if no line of the file is a result
     */
    static String table(Path file) throws IOException {
        List<Result> results = Files.readAllLines(file).stream()
                .map(Result::parse)
                .flatMap(Optional::stream)
                .toList();
        if (results.isEmpty()) {
            throw new IOException("no line of " + file + " begins with RESULT");
        }
        StringBuilder table = new StringBuilder(
                "| aim | expected | found | range | other programs had | |\n|---|---|---|---|---|---|\n");
        ALL.forEach(aim -> table.append(row(aim, aim.outcome(results))));
        return table.toString();
    }

    private static String row(Aim aim, Optional<Aim.Outcome> outcome) {
        return "| " + aim.words() + " | " + aim.boundInWords() + " | "
                + outcome.map(each -> each.found() + " | " + each.range() + " | " + each.othersPercent() + " % | "
                                + (each.met() ? "met" : "**missed**"))
                        .orElse("- | | | not measured")
                + " |\n";
    }
}
