package io.hvd.benchmarks;

import io.hvd.benchmarks.cost.Algorithm;
import io.hvd.benchmarks.cost.CalibrationHost;
import io.hvd.benchmarks.cost.Cost;
import io.hvd.benchmarks.cost.CostModel;
import io.hvd.benchmarks.cost.JobShape;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What a model predicts for jobs, sizes and links, as a table in Markdown, and what is assumed.
 *
 * @param links what the link of a host carries each way, in bytes per second
 */
record PredictionTable(CostModel model, List<JobShape> shapes, List<Long> sizes, List<Double> links) {

    List<String> lines() {
        List<String> lines = new ArrayList<>(List.of(
                "| hosts x ranks | bytes | link, Mbit/s | hvd's own way, ms | link busy | ring, ms | link busy"
                        + " | MPI_Allreduce, ms | link busy |",
                "|---|---|---|---|---|---|---|---|---|"));
        for (double link : links) {
            for (JobShape shape : shapes) {
                for (long bytes : sizes) {
                    lines.add(line(model.withLink(link), shape, bytes));
                }
            }
        }
        lines.addAll(assumptions());
        return lines;
    }

    private static String line(CostModel model, JobShape shape, long bytes) {
        return String.format(
                Locale.ROOT,
                "| %d x %d | %d | %s | %s | %s | %s |",
                shape.hosts(),
                shape.perHost(),
                bytes,
                mbits(model.host().linkBytesPerSecond()),
                cells(model, Algorithm.ownOf(shape), shape, bytes),
                cells(model, Algorithm.RING, shape, bytes),
                cells(model, Algorithm.MPI, shape, bytes));
    }

    private static String cells(CostModel model, Algorithm algorithm, JobShape shape, long bytes) {
        return model.cost(algorithm, shape, bytes).map(PredictionTable::cells).orElse("- | -");
    }

    private static String cells(Cost cost) {
        return String.format(Locale.ROOT, "%s | %.0f %%", Result.number(cost.seconds() * 1e3), 100 * cost.linkShare());
    }

    private static String mbits(double bytesPerSecond) {
        return Double.isInfinite(bytesPerSecond) ? "no limit" : Result.number(bytesPerSecond * 8 / 1e6);
    }

    private List<String> assumptions() {
        CalibrationHost host = model.host();
        return List.of(
                "",
                "Assumed: messages, bytes and sums cost what they did on " + host.description()
                        + ", also with more hosts and ranks;",
                host.coresShared()
                        ? "all hosts share " + host.cores() + " cores;"
                        : "each host has " + host.cores() + " cores of its own;",
                "every host has a link of its own, which carries its rate both ways at once and is never congested elsewhere;",
                "hvd's settings have their defaults, and all data is one tensor of floats.",
                "\"link busy\" is the part of the time that the bytes need on the link. Where it is small, the cores and the"
                        + " messages decide.");
    }
}
