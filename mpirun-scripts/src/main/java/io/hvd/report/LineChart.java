package io.hvd.report;

import io.hvd.report.ChartCurve.Point;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.stream.DoubleStream;

/**
 * Curves over the steps of a training.
 *
 * @param fromZero whether the axis of the values begins with 0
 */
record LineChart(String title, List<Line> lines, boolean fromZero) implements Chart {
    private static final int HEIGHT = 220;
    private static final int LEFT = 46;
    private static final int RIGHT = 350;
    private static final int TOP = 10;
    private static final int BOTTOM = 184;
    /** More points of a line cannot be told apart. */
    private static final int MOST_POINTS = 150;
    /** A line with fewer points shows each of them. */
    private static final int MARKED = 40;

    record Line(String name, Stroke stroke, List<Point> points) {
        List<Point> thinned() {
            int every = (points.size() + MOST_POINTS - 1) / MOST_POINTS;
            List<Point> kept = new ArrayList<>();
            for (int i = 0; i < points.size(); i++) {
                if (i % Math.max(1, every) == 0 || i == points.size() - 1) {
                    kept.add(points.get(i));
                }
            }
            return kept;
        }
    }

    private DoubleStream finite() {
        return lines.stream()
                .flatMap(line -> line.thinned().stream())
                .mapToDouble(Point::value)
                .filter(Double::isFinite);
    }

    @Override
    public String svg() {
        StringBuilder svg = new StringBuilder("<svg viewBox=\"0 0 " + WIDTH + " " + HEIGHT
                + "\" role=\"img\" aria-label=\"" + Html.text(title) + "\">");
        if (finite().findAny().isEmpty()) {
            return svg.append("<text x=\"" + LEFT + "\" y=\"100\">There is no finite value.</text></svg>")
                    .toString();
        }
        double least = finite().min().orElseThrow();
        AxisScale up = AxisScale.of(
                fromZero ? Math.min(0, least) : least, finite().max().orElseThrow(), 4, BOTTOM, TOP);
        long last = lines.stream()
                .flatMap(line -> line.points.stream())
                .mapToLong(Point::step)
                .max()
                .orElseThrow();
        AxisScale along = AxisScale.of(0, last, 5, LEFT, RIGHT);
        axes(svg, up, along);
        lines.forEach(line -> draw(svg, line, up, along));
        return svg.append("</svg>").toString();
    }

    private static void axes(StringBuilder svg, AxisScale up, AxisScale along) {
        for (double value : up.ticks()) {
            double y = up.place(value);
            svg.append(String.format(
                    Locale.ROOT,
                    "<path class=\"rule\" d=\"M%d %.1fH%d\"/><text class=\"end\" x=\"%d\" y=\"%.1f\">%s</text>",
                    LEFT,
                    y,
                    RIGHT,
                    LEFT - 5,
                    y + 4,
                    Html.number(value)));
        }
        for (double value : along.ticks()) {
            if (value == Math.rint(value)) {
                svg.append(String.format(
                        Locale.ROOT,
                        "<text class=\"middle\" x=\"%.1f\" y=\"%d\">%s</text>",
                        along.place(value),
                        BOTTOM + 16,
                        Html.number(value)));
            }
        }
        svg.append("<text class=\"middle\" x=\"" + (LEFT + RIGHT) / 2 + "\" y=\"" + (HEIGHT - 4) + "\">step</text>");
    }

    private void draw(StringBuilder svg, Line line, AxisScale up, AxisScale along) {
        List<Point> points = line.thinned();
        svg.append("<path " + line.stroke.attributes() + " d=\"" + path(points, up, along) + "\"/>");
        double radius = points.size() <= MARKED ? 2.5 : 1;
        for (Point point : points) {
            if (Double.isFinite(point.value())) {
                svg.append(String.format(
                        Locale.ROOT,
                        "<circle class=\"c%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%s\"><title>%s, step %d: %s</title></circle>",
                        line.stroke.colour(),
                        along.place(point.step()),
                        up.place(point.value()),
                        radius,
                        Html.text(line.name),
                        point.step(),
                        Html.number(point.value())));
            }
        }
    }

    /** A line with a gap where a value is not finite. */
    private static String path(List<Point> points, AxisScale up, AxisScale along) {
        StringBuilder path = new StringBuilder();
        boolean pen = false;
        for (Point point : points) {
            if (Double.isFinite(point.value())) {
                path.append(String.format(
                        Locale.ROOT,
                        "%s%.1f %.1f",
                        pen ? "L" : "M",
                        along.place(point.step()),
                        up.place(point.value())));
            }
            pen = Double.isFinite(point.value());
        }
        return path.toString();
    }

    @Override
    public List<Key> keys() {
        return lines.stream().map(line -> new Key(line.name, line.stroke)).toList();
    }

    @Override
    public List<String> columns() {
        List<String> columns = new ArrayList<>(List.of("step"));
        lines.forEach(line -> columns.add(line.name));
        return columns;
    }

    @Override
    public List<List<String>> rows() {
        TreeSet<Long> steps = new TreeSet<>();
        lines.forEach(line -> line.thinned().forEach(point -> steps.add(point.step())));
        List<List<String>> rows = new ArrayList<>();
        for (long step : steps) {
            List<String> row = new ArrayList<>(List.of(String.valueOf(step)));
            lines.forEach(line -> row.add(at(line, step)));
            rows.add(row);
        }
        return rows;
    }

    private static String at(Line line, long step) {
        return line.thinned().stream()
                .filter(point -> point.step() == step)
                .map(point -> Html.number(point.value()))
                .reduce("", (one, later) -> later);
    }
}
