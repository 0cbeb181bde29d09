package io.hvd.top;

import java.time.Duration;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;

/** A page of HTML with two drawings over the time, which loads nothing: load, and memory of each GPU or rank. */
final class MonitorPlot {
    private static final int WIDTH = 720;
    private static final int HEIGHT = 260;
    private static final int LEFT = 60;
    private static final int RIGHT = 700;
    private static final int TOP = 12;
    private static final int BOTTOM = 216;
    private static final int TICKS = 5;
    /** More points of a line cannot be told apart. */
    private static final int MOST_POINTS = 400;

    private static final List<String> COLOURS =
            List.of("#1b6ac9", "#d1495b", "#2a9d5c", "#c77700", "#7b4bb7", "#00808a", "#8a5a2b", "#555555");

    private final String what;
    private final TreeMap<Integer, List<Reading>> lines = new TreeMap<>();
    private final LocalDateTime begin;
    private final double seconds;

    /** @param what the word for what the lines stand for: GPU or rank @param readings at least one, by time */
    MonitorPlot(String what, List<Reading> readings) {
        this.what = what;
        readings.forEach(one ->
                lines.computeIfAbsent(one.index(), index -> new ArrayList<>()).add(one));
        this.begin = readings.get(0).time();
        this.seconds =
                Math.max(1e-3, secondsUntil(readings.get(readings.size() - 1).time()));
    }

    private double secondsUntil(LocalDateTime time) {
        return Duration.between(begin, time).toMillis() / 1e3;
    }

    String html() {
        return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>hvd-monitor</title><style>\n"
                + "body{font:14px sans-serif;max-width:760px;margin:2em auto}svg{width:100%}"
                + "text{font-size:12px;fill:#333}.rule{stroke:#ddd}\n</style></head><body>\n<h1>Load and memory of each "
                + what + "</h1>\n<p>From " + begin + ", " + String.format(Locale.ROOT, "%.1f", seconds)
                + " s. " + legend() + "</p>\n<h2>Load in percent</h2>\n"
                + drawing(Reading::load, Reading::knowsLoad)
                + "\n<h2>Memory in MiB</h2>\n" + drawing(Reading::usedMebibytes, Reading::knowsMemory)
                + "\n</body></html>\n";
    }

    private String legend() {
        StringBuilder legend = new StringBuilder();
        lines.keySet()
                .forEach(index -> legend.append("<b style=\"color:")
                        .append(colour(index))
                        .append("\">")
                        .append(what)
                        .append(' ')
                        .append(index)
                        .append("</b> "));
        return legend.toString();
    }

    private static String colour(int index) {
        return COLOURS.get(Math.floorMod(index, COLOURS.size()));
    }

    private String drawing(ToLongFunction<Reading> figure, Predicate<Reading> known) {
        long most = lines.values().stream()
                .flatMap(List::stream)
                .filter(known)
                .mapToLong(figure)
                .max()
                .orElse(0);
        long step = step(Math.max(1, most));
        long top = step * ((Math.max(1, most) + step - 1) / step);
        StringBuilder svg = axes(top, step);
        lines.forEach((index, all) -> svg.append(line(index, all, figure, known, top)));
        return svg.append("</svg>").toString();
    }

    private StringBuilder axes(long top, long step) {
        StringBuilder svg = new StringBuilder("<svg viewBox=\"0 0 " + WIDTH + " " + HEIGHT + "\" role=\"img\">");
        for (long value = 0; value <= top; value += step) {
            double y = BOTTOM - (double) (BOTTOM - TOP) * value / top;
            svg.append(String.format(
                    Locale.ROOT,
                    "<path class=\"rule\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d</text>",
                    LEFT,
                    y,
                    RIGHT,
                    LEFT - 6,
                    y + 4,
                    value));
        }
        for (int tick = 0; tick <= TICKS; tick++) {
            svg.append(String.format(
                    Locale.ROOT,
                    "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.1f s</text>",
                    LEFT + (double) (RIGHT - LEFT) * tick / TICKS,
                    BOTTOM + 18,
                    seconds * tick / TICKS));
        }
        return svg;
    }

    /** The next of 1, 2 and 5 times a power of ten that divides the axis into about four parts. */
    private static long step(long most) {
        long power = 1;
        while (true) {
            for (long factor : new long[] {1, 2, 5}) {
                if (most <= 4 * factor * power) {
                    return factor * power;
                }
            }
            power *= 10;
        }
    }

    private String line(
            int index, List<Reading> all, ToLongFunction<Reading> figure, Predicate<Reading> known, long top) {
        List<Reading> points = all.stream().filter(known).toList();
        int every = Math.max(1, (points.size() + MOST_POINTS - 1) / MOST_POINTS);
        StringBuilder places = new StringBuilder();
        for (int i = 0; i < points.size(); i += every) {
            Reading one = points.get(i);
            places.append(String.format(
                    Locale.ROOT,
                    "%.1f,%.1f ",
                    LEFT + (RIGHT - LEFT) * secondsUntil(one.time()) / seconds,
                    BOTTOM - (double) (BOTTOM - TOP) * figure.applyAsLong(one) / top));
        }
        return "<polyline fill=\"none\" stroke=\"" + colour(index) + "\" points=\""
                + places.toString().strip() + "\"><title>" + what + " " + index + "</title></polyline>";
    }
}
