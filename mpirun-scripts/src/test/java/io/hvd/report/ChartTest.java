package io.hvd.report;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.report.BarChart.Bar;
import io.hvd.report.Chart.Key;
import io.hvd.report.Chart.Stroke;
import io.hvd.report.ChartCurve.Point;
import io.hvd.report.LineChart.Line;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ChartTest {
    private static LineChart lines(Point... points) {
        return new LineChart("Loss", List.of(new Line("a", Stroke.colour(0), List.of(points))), false);
    }

    @Test
    void aLineGoesThroughItsPointsBetweenTheAxes() {
        String svg = lines(new Point(0, 0), new Point(50, 1), new Point(100, 2)).svg();

        assertThat(svg)
                .contains("d=\"M46.0 184.0L198.0 97.0L350.0 10.0\"")
                .contains("cx=\"198.0\" cy=\"97.0\" r=\"2.5\"><title>a, step 50: 1</title>")
                .contains(">0.5</text>", ">1.5</text>", ">100</text>");
    }

    @Test
    void aValueThatIsNoNumberBreaksTheLineAndStandsInTheTable() {
        LineChart chart =
                lines(new Point(0, 0), new Point(1, 2), new Point(2, Double.NaN), new Point(3, 2), new Point(4, 0));

        assertThat(chart.svg()).contains("L122.0 10.0M274.0 10.0L").doesNotContain("NaN");
        assertThat(chart.rows()).contains(List.of("2", "NaN"));
    }

    @Test
    void withoutAFiniteValueTheChartSaysSo() {
        assertThat(lines(new Point(1, Double.POSITIVE_INFINITY)).svg()).contains("There is no finite value.");
    }

    @Test
    void ofManyPointsTheFirstAndTheLastAreShown() {
        Point[] many = IntStream.rangeClosed(0, 10_000)
                .mapToObj(step -> new Point(step, step / 2.0))
                .toArray(Point[]::new);

        List<List<String>> rows = lines(many).rows();

        assertThat(rows).hasSizeBetween(100, 160).startsWith(List.of("0", "0")).endsWith(List.of("10000", "5000"));
    }

    @Test
    void theTableHasARowForEachStepOfAnyLine() {
        LineChart chart = new LineChart(
                "Loss",
                List.of(
                        new Line("a", Stroke.colour(0), List.of(new Point(1, 0.5))),
                        new Line("b", Stroke.colour(1), List.of(new Point(1, 0.25), new Point(2, 0.125)))),
                false);

        assertThat(chart.columns()).containsExactly("step", "a", "b");
        assertThat(chart.rows()).containsExactly(List.of("1", "0.5", "0.25"), List.of("2", "", "0.125"));
    }

    @Test
    void thePartsOfABarFollowEachOther() {
        BarChart chart = new BarChart(
                "Step",
                "ms",
                List.of(new Key("computing", Stroke.colour(0)), new Key("exchange", Stroke.colour(1))),
                List.of(new Bar("rank 0", new double[] {6, 4}), new Bar("rank 1", new double[] {5, 0})));

        assertThat(chart.svg())
                .contains("x=\"116.0\" y=\"8.2\" width=\"138.0\"")
                .contains("x=\"254.0\" y=\"8.2\" width=\"92.0\"")
                .contains("<title>rank 0, exchange: 4 ms</title>");
        assertThat(chart.rows()).containsExactly(List.of("rank 0", "6", "4"), List.of("rank 1", "5", "0"));
    }

    @ParameterizedTest
    @CsvSource({
        "0, 10, 0, 10",
        "0.31, 2.29, 0, 2.5",
        "-3, 3, -4, 4",
        "5, 5, 2, 8",
        "0, 0, 0, 1",
        "9990, 10010, 9990, 10010"
    })
    void anAxisEndsWithRoundNumbersAroundItsValues(double least, double greatest, double first, double last) {
        AxisScale scale = AxisScale.of(least, greatest, 4, 0, 100);

        assertThat(scale.ticks()).startsWith(first).endsWith(last);
    }

    @ParameterizedTest
    @CsvSource({
        "0, 0",
        "0.123456, 0.1235",
        "1234.56, 1235",
        "2e7, 2.000e+07",
        "0.00001, 1.000e-05",
        "-0.5, -0.5",
        "NaN, NaN"
    })
    void aNumberHasFourDigitsThatMatter(double value, String shown) {
        assertThat(Html.number(value)).isEqualTo(shown);
    }
}
