package io.hvd.benchmarks;

import java.awt.Color;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;
import org.knowm.xchart.ChartEncoder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.internal.chartpart.Chart;
import org.knowm.xchart.style.Styler.LegendPosition;

/**
 * Draws the results of one benchmark: time by size if there are several sizes, else time by ranks if there are several
 * numbers of ranks, else ratios as bars.
 */
final class Plot {
    private static final int WIDTH = 900;
    private static final int HEIGHT = 500;
    private static final int FEWEST_POINTS = 3;
    private static final int MOST_LEVEL_LABELS = 6;

    private final String bench;
    private final List<Result> results;

    Plot(String bench, List<Result> results) {
        this.bench = bench;
        this.results = results;
    }

    /** @return the names of the files */
    List<String> save(Path folder) throws IOException {
        if (distinct(Result::bytes) >= FEWEST_POINTS) {
            List<String> files = new ArrayList<>();
            Map<Integer, List<Result>> byRanks =
                    results.stream().collect(Collectors.groupingBy(Result::ranks, TreeMap::new, Collectors.toList()));
            for (Map.Entry<Integer, List<Result>> some : byRanks.entrySet()) {
                files.add(lines(some.getValue(), ", " + some.getKey() + " ranks", "bytes", Result::bytes, folder));
            }
            return files;
        }
        return List.of(
                distinct(Result::ranks) >= FEWEST_POINTS
                        ? lines(results, "", "ranks", Result::ranks, folder)
                        : bars(folder));
    }

    private long distinct(ToDoubleFunction<Result> what) {
        return results.stream().mapToDouble(what).distinct().count();
    }

    private String lines(List<Result> some, String suffix, String axis, ToDoubleFunction<Result> x, Path folder)
            throws IOException {
        XYChart chart = new XYChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title(bench + suffix)
                .xAxisTitle(axis)
                .yAxisTitle("microseconds")
                .build();
        chart.getStyler()
                .setXAxisLogarithmic(true)
                .setYAxisLogarithmic(true)
                .setLegendPosition(LegendPosition.OutsideE);
        Set<String> opponents = new LinkedHashSet<>(
                some.stream().map(Result::opponent).map(Plot::family).toList());
        addLine(chart, "hvd", firstOfEach(some, x), x, Result::oursMicros);
        for (String opponent : opponents) {
            List<Result> theirs = some.stream()
                    .filter(result -> family(result.opponent()).equals(opponent))
                    .toList();
            addLine(chart, opponent, theirs, x, Result::opponentMicros);
        }
        return save(chart, (bench + suffix).replaceAll("\\W+", "-"), folder);
    }

    /** The opponent's name without the setting that was the best for a size, because that differs from size to size. */
    private static String family(String opponent) {
        return opponent.replaceAll("best:[^\\],]*", "best");
    }

    private static List<Result> firstOfEach(List<Result> some, ToDoubleFunction<Result> x) {
        Map<Double, Result> first = new TreeMap<>();
        some.forEach(result -> first.putIfAbsent(x.applyAsDouble(result), result));
        return List.copyOf(first.values());
    }

    private static void addLine(
            XYChart chart, String name, List<Result> some, ToDoubleFunction<Result> x, ToDoubleFunction<Result> y) {
        List<Result> inOrder = firstOfEach(some, x);
        chart.addSeries(
                name,
                inOrder.stream().mapToDouble(x).toArray(),
                inOrder.stream().mapToDouble(y).toArray());
    }

    private String bars(Path folder) throws IOException {
        CategoryChart chart = new CategoryChartBuilder()
                .width(WIDTH)
                .height(HEIGHT)
                .title(bench)
                .yAxisTitle("opponent's time / hvd's time")
                .build();
        chart.getStyler().setLegendPosition(LegendPosition.OutsideS);
        List<String> places = results.stream().map(Plot::place).distinct().toList();
        chart.getStyler().setXAxisLabelRotation(places.size() > MOST_LEVEL_LABELS ? 90 : 0);
        Map<String, List<Result>> byOpponent =
                results.stream().collect(Collectors.groupingBy(Result::opponent, TreeMap::new, Collectors.toList()));
        byOpponent.forEach((opponent, some) -> {
            Map<String, Double> ratios =
                    some.stream().collect(Collectors.toMap(Plot::place, Result::ratio, (first, again) -> again));
            chart.addSeries(opponent, places, places.stream().map(ratios::get).toList());
        });
        return save(chart, bench.replaceAll("\\W+", "-"), folder);
    }

    private static String place(Result result) {
        String bytes = result.bytes() + " bytes";
        return result.bench().startsWith(ResultPage.KERNEL)
                ? result.bench().substring(ResultPage.KERNEL.length()) + ", " + bytes
                : result.ranks() + " ranks, " + bytes;
    }

    /** Saves a chart as PNG; an SVG file would be ten times as large. */
    private static String save(Chart<?, ?> chart, String name, Path folder) throws IOException {
        chart.getStyler().setChartBackgroundColor(Color.WHITE);
        ChartEncoder.saveChart(chart, folder.resolve(name).toString(), "PNG");
        return name + ".png";
    }
}
