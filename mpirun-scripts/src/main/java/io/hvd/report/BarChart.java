package io.hvd.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Bars from left to right, each of one part or several.
 *
 * @param parts what the parts of a bar are, in the order of their colours
 */
record BarChart(String title, String unit, List<Key> parts, List<Bar> bars) implements Chart {
    private static final int LEFT = 116;
    private static final int RIGHT = 346;
    private static final int TOP = 6;
    /** All bars together are about as high as this if there are many. */
    private static final int MOST_HEIGHT = 600;

    private static final double THICKEST = 22;
    private static final double THINNEST = 4;
    private static final int LETTER = 13;
    private static final int LONGEST_LABEL = 20;

    /** @param values of the parts */
    record Bar(String label, double[] values) {
        double sum() {
            double sum = 0;
            for (double value : values) {
                sum += value;
            }
            return sum;
        }
    }

    @Override
    public String svg() {
        double thick = Math.max(THINNEST, Math.min(THICKEST, MOST_HEIGHT / (double) Math.max(1, bars.size())));
        double bottom = TOP + thick * bars.size();
        StringBuilder svg = new StringBuilder(String.format(
                Locale.ROOT,
                "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"%s\">",
                WIDTH,
                bottom + 40,
                Html.text(title)));
        double most = bars.stream().mapToDouble(Bar::sum).max().orElse(0);
        AxisScale along = AxisScale.of(0, most, 4, LEFT, RIGHT);
        axis(svg, along, bottom);
        int labelled = (int) Math.ceil(LETTER / thick);
        for (int i = 0; i < bars.size(); i++) {
            draw(svg, bars.get(i), TOP + thick * i, thick, along, i % labelled == 0);
        }
        return svg.append("</svg>").toString();
    }

    private void axis(StringBuilder svg, AxisScale along, double bottom) {
        for (double value : along.ticks()) {
            double x = along.place(value);
            svg.append(String.format(
                    Locale.ROOT,
                    "<path class=\"rule\" d=\"M%.1f %dV%.1f\"/><text class=\"middle\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                    x,
                    TOP,
                    bottom,
                    x,
                    bottom + 16,
                    Html.number(value)));
        }
        svg.append(String.format(
                Locale.ROOT,
                "<text class=\"middle\" x=\"%d\" y=\"%.1f\">%s</text>",
                (LEFT + RIGHT) / 2,
                bottom + 34,
                Html.text(unit)));
    }

    private void draw(StringBuilder svg, Bar bar, double top, double thick, AxisScale along, boolean labelled) {
        if (labelled) {
            svg.append(String.format(
                    Locale.ROOT,
                    "<text class=\"end\" x=\"%d\" y=\"%.1f\">%s</text>",
                    LEFT - 5,
                    top + thick / 2 + 4,
                    Html.text(shortened(bar.label))));
        }
        double before = 0;
        for (int i = 0; i < bar.values.length; i++) {
            double from = along.place(before);
            before += bar.values[i];
            svg.append(String.format(
                    Locale.ROOT,
                    "<rect class=\"c%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%s, %s: %s %s</title></rect>",
                    parts.get(i).stroke().colour(),
                    from,
                    top + thick * 0.1,
                    along.place(before) - from,
                    thick * 0.8,
                    Html.text(bar.label),
                    Html.text(parts.get(i).name()),
                    Html.number(bar.values[i]),
                    Html.text(unit)));
        }
    }

    /** The end of a label says which rank it is. */
    private static String shortened(String label) {
        int tooMany = label.length() - LONGEST_LABEL;
        return tooMany > 0 ? "…" + label.substring(tooMany + 1) : label;
    }

    @Override
    public List<Key> keys() {
        return parts.size() > 1 ? parts : List.of();
    }

    @Override
    public List<String> columns() {
        List<String> columns = new ArrayList<>(List.of("rank"));
        parts.forEach(part -> columns.add(part.name() + " (" + unit + ")"));
        return columns;
    }

    @Override
    public List<List<String>> rows() {
        List<List<String>> rows = new ArrayList<>();
        for (Bar bar : bars) {
            List<String> row = new ArrayList<>(List.of(bar.label));
            for (double value : bar.values) {
                row.add(Html.number(value));
            }
            rows.add(row);
        }
        return rows;
    }
}
