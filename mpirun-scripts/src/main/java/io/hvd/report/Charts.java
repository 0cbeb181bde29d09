package io.hvd.report;

import io.hvd.report.BarChart.Bar;
import io.hvd.report.Chart.Key;
import io.hvd.report.Chart.Stroke;
import io.hvd.report.ChartCurve.Point;
import io.hvd.report.LineChart.Line;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;

/** Chooses the charts of some runs. With one run the colours stand for curves or ranks, with several for runs. */
record Charts(List<RunFolder> runs) {
    List<Chart> all() {
        List<Chart> charts = new ArrayList<>();
        charts.add(curves("Loss", Charts::isLoss, false));
        charts.add(curves("Accuracy", Charts::isAccuracy, false));
        charts.add(throughput());
        charts.add(split());
        charts.add(memory());
        others().forEach(tag -> charts.add(curves(tag, tag::equals, false)));
        charts.removeIf(chart -> chart.rows().isEmpty());
        return charts;
    }

    private static boolean isLoss(String tag) {
        return tag.toLowerCase(Locale.ROOT).contains("loss");
    }

    private static boolean isAccuracy(String tag) {
        return !isLoss(tag) && tag.toLowerCase(Locale.ROOT).matches(".*(accuracy|\\bacc\\b).*");
    }

    private Set<String> others() {
        return tags(tag -> !isLoss(tag) && !isAccuracy(tag));
    }

    private Set<String> tags(Predicate<String> wanted) {
        Set<String> tags = new LinkedHashSet<>();
        runs.forEach(
                run -> run.curves().stream().map(ChartCurve::tag).filter(wanted).forEach(tags::add));
        return tags;
    }

    private Chart curves(String title, Predicate<String> wanted, boolean fromZero) {
        List<String> tags = List.copyOf(tags(wanted));
        List<String> ordered = new ArrayList<>(tags(wanted));
        List<Line> lines = new ArrayList<>();
        for (int run = 0; run < runs.size(); run++) {
            for (ChartCurve curve : runs.get(run).curves()) {
                if (wanted.test(curve.tag())) {
                    int tag = ordered.indexOf(curve.tag());
                    String what = tags.size() == 1 && !isSingle() ? "" : curve.tag();
                    lines.add(new Line(named(run, what), stroke(run, tag), curve.points()));
                }
            }
        }
        return new LineChart(title, lines, fromZero);
    }

    private boolean isSingle() {
        return runs.size() == 1;
    }

    private String named(int run, String what) {
        String name = runs.get(run).name();
        return isSingle() ? what : what.isEmpty() ? name : name + ", " + what;
    }

    private Stroke stroke(int run, int member) {
        return isSingle() ? Stroke.colour(member) : new Stroke(run % Chart.COLOURS, member);
    }

    private Chart throughput() {
        List<Line> lines = new ArrayList<>();
        for (int run = 0; run < runs.size(); run++) {
            for (Card.Rank rank : runs.get(run).card().ranks()) {
                List<Point> points = new ArrayList<>();
                for (Card.Epoch epoch : runs.get(run).card().epochs()) {
                    epoch.ranks().stream()
                            .filter(figures -> figures.rank() == rank.rank())
                            .forEach(figures -> points.add(new Point(epoch.step(), figures.samplesPerSecond())));
                }
                if (!points.isEmpty()) {
                    lines.add(new Line(named(run, "rank " + rank.rank()), stroke(run, rank.rank()), points));
                }
            }
        }
        return new LineChart("Samples per second of each rank", lines, true);
    }

    private Chart split() {
        List<Key> parts = List.of(
                new Key("computing", Stroke.colour(0)),
                new Key("exchange", Stroke.colour(1)),
                new Key("waiting for data", Stroke.colour(4)));
        return new BarChart(
                "A step of each rank",
                "ms per step",
                parts,
                bars(rank -> rank.total().splitMillis()));
    }

    private Chart memory() {
        ToDoubleFunction<Card.Rank> peak = rank -> rank.total().peakMemoryMib();
        List<Key> parts = List.of(new Key("peak memory", Stroke.colour(2)));
        return new BarChart("Peak memory of each rank's process", "MiB", parts, bars(rank ->
                new double[] {peak.applyAsDouble(rank)}));
    }

    private List<Bar> bars(Function<Card.Rank, double[]> values) {
        List<Bar> bars = new ArrayList<>();
        for (int run = 0; run < runs.size(); run++) {
            for (Card.Rank rank : runs.get(run).card().ranks()) {
                if (rank.total().steps() > 0) {
                    bars.add(new Bar(named(run, "rank " + rank.rank()), values.apply(rank)));
                }
            }
        }
        return bars;
    }
}
