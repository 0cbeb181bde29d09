package io.hvd.benchmarks;

import io.hvd.benchmarks.cost.Algorithm;
import io.hvd.benchmarks.cost.CostModel;
import io.hvd.benchmarks.cost.JobShape;
import io.hvd.benchmarks.cost.Sample;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** Compares a model with measurements: how large its errors are, and whether it chooses the fastest algorithm. */
record ModelCheck(CostModel model, List<Sample> samples) {

    /** A result for each sample that the model can predict; {@code ours} is the predicted time. */
    List<Result> results() {
        List<Result> results = new ArrayList<>();
        for (Sample sample : samples) {
            JobShape shape = sample.shape();
            model.cost(sample.algorithm(), shape, sample.bytes())
                    .ifPresent(predicted -> results.add(new Result(
                                    "model-" + sample.algorithm().word(),
                                    shape.ranks(),
                                    sample.bytes(),
                                    predicted.seconds() * 1e6,
                                    "measured",
                                    sample.seconds() * 1e6,
                                    Map.of())
                            .with("hosts", Integer.toString(shape.hosts()))
                            .with("link_share", predicted.linkShare())
                            .with("relative_error", signed(predicted.seconds() / sample.seconds() - 1))));
        }
        return results;
    }

    /** The fields of one line: number of samples, median and 95 % error, and how good the model's choices are. */
    String summary() {
        List<Double> errors = results().stream()
                .map(result -> Math.abs(result.oursMicros() / result.opponentMicros() - 1))
                .toList();
        if (errors.isEmpty()) {
            return "samples=0";
        }
        Spread spread = Spread.of(errors);
        List<Double> losses = losses();
        return String.format(
                Locale.ROOT,
                "samples=%d median_error=%.3f error_95=%.3f right_choices=%d/%d worst_choice_loss=%.3f",
                spread.count(),
                spread.median(),
                spread.high(),
                losses.stream().filter(loss -> loss == 0).count(),
                losses.size(),
                losses.stream().mapToDouble(Double::doubleValue).max().orElse(0));
    }

    /**
     * For each job and size that was measured with several algorithms: how much longer than the fastest one the
     * algorithm takes that the model chooses.
     */
    private List<Double> losses() {
        Map<String, List<Sample>> together = samples.stream()
                .collect(Collectors.groupingBy(
                        sample -> sample.shape() + " " + sample.bytes(), LinkedHashMap::new, Collectors.toList()));
        return together.values().stream()
                .filter(ways -> ways.size() > 1)
                .map(this::loss)
                .toList();
    }

    private double loss(Collection<Sample> ways) {
        Sample any = ways.iterator().next();
        List<Algorithm> among = ways.stream().map(Sample::algorithm).toList();
        Algorithm chosen = model.fastest(among, any.shape(), any.bytes());
        double best = ways.stream()
                .min(Comparator.comparingDouble(Sample::seconds))
                .orElseThrow()
                .seconds();
        double taken = ways.stream()
                .filter(sample -> sample.algorithm() == chosen)
                .findFirst()
                .orElseThrow()
                .seconds();
        return taken / best - 1;
    }

    private static String signed(double share) {
        return String.format(Locale.ROOT, "%+.3f", share);
    }
}
