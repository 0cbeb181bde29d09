package io.hvd.report;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The page of some runs: HTML with its drawings inside, without scripts, that loads nothing.
 *
 * @param obstacles why other runs are not on it
 * @param refreshSeconds after which a browser loads it again; 0 for never
 */
record ReportPage(List<RunFolder> runs, List<String> obstacles, int refreshSeconds) {
    /** More lines of a legend help nobody; the table beside the chart has all names. */
    private static final int MOST_KEYS = 12;
    /** How the tags of curves begin that are written within epochs, as LogScalars does. */
    private static final String WITHIN_EPOCHS = "steps/";

    /** A page of runs that are all there, which stays as it is. */
    ReportPage(List<RunFolder> runs) {
        this(runs, List.of(), 0);
    }

    String html() throws IOException {
        String title = runs.size() == 1 ? "Run " + runs.get(0).name() : runs.size() + " runs";
        StringBuilder html =
                new StringBuilder("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        html.append("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
                .append("<meta name=\"color-scheme\" content=\"light dark\">\n")
                .append("<meta http-equiv=\"Content-Security-Policy\"")
                .append(" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n")
                .append(refreshSeconds > 0 ? "<meta http-equiv=\"refresh\" content=\"" + refreshSeconds + "\">\n" : "")
                .append("<title>" + Html.text(title) + "</title>\n<style>\n" + style() + "</style>\n</head>\n<body>\n")
                .append("<h1>" + Html.text(title) + "</h1>\n");
        obstacles.forEach(one -> html.append("<p class=\"failure\">" + Html.text(one) + "</p>\n"));
        if (runs.isEmpty()) {
            return html.append("</body>\n</html>\n").toString();
        }
        html.append("<section class=\"grid runs\">\n");
        runs.forEach(run -> html.append(card(run)));
        html.append("</section>\n").append(comparison()).append("<section class=\"grid charts\">\n");
        new Charts(runs).all().forEach(chart -> html.append(figure(chart)));
        return html.append("</section>\n<footer>Made by hvd-report.</footer>\n</body>\n</html>\n")
                .toString();
    }

    private static String style() throws IOException {
        try (InputStream file = ReportPage.class.getResourceAsStream("report.css")) {
            return new String(file.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static String card(RunFolder run) {
        Card card = run.card();
        StringBuilder html =
                new StringBuilder("<article class=\"run\"><h2>" + Html.text(run.name()) + " <span class=\"state "
                        + Html.text(card.exit().state()) + "\">" + Html.text(run.state()) + "</span></h2>");
        reason(html, card.exit());
        html.append("<dl>");
        entries(html, run);
        html.append("</dl>");
        if (!card.warnings().isEmpty()) {
            html.append("<ul class=\"warnings\">");
            card.warnings().forEach(one -> html.append("<li>" + Html.text(one) + "</li>"));
            html.append("</ul>");
        }
        return html.append("</article>\n").toString();
    }

    private static void reason(StringBuilder html, Card.Exit exit) {
        if (exit.error() != null || exit.message() != null) {
            String error = exit.error() == null ? "" : exit.error() + ": ";
            String kind = exit.state().equals("failed") ? "failure" : "reason";
            html.append("<p class=\"" + kind + "\">" + Html.text(error + exit.message()) + "</p>");
        }
    }

    private static void entries(StringBuilder html, RunFolder run) {
        Card card = run.card();
        entry(html, "program", card.program());
        entry(html, "ranks", String.valueOf(card.ranks().size()));
        entry(html, "begun", card.starts().isEmpty() ? "" : time(card.starts().get(0)));
        if (card.starts().size() > 1) {
            entry(
                    html,
                    "resumed",
                    card.starts().stream().skip(1).map(ReportPage::time).collect(Collectors.joining(", ")));
        }
        entry(html, "last written", time(card.written()));
        entry(html, "samples per second", Html.number(card.samplesPerSecond()));
        if (!card.epochs().isEmpty()) {
            Card.Epoch last = card.epochs().get(card.epochs().size() - 1);
            entry(html, "epochs", last.epoch() + ", " + last.step() + " steps");
            new TreeMap<>(last.metrics()).forEach((name, value) -> entry(html, name, Html.number(value)));
        }
        run.curves().stream()
                .filter(curve -> curve.tag().startsWith(WITHIN_EPOCHS))
                .forEach(curve -> entry(html, curve.tag(), newest(curve)));
    }

    private static String newest(ChartCurve curve) {
        ChartCurve.Point last = curve.points().get(curve.points().size() - 1);
        return Html.number(last.value()) + " after step " + last.step();
    }

    /** A time of the card, to the second. */
    private static String time(String iso) {
        return String.valueOf(iso)
                .replaceFirst("^(\\d{4}-\\d\\d-\\d\\d)T(\\d\\d:\\d\\d:\\d\\d)(\\.\\d+)?Z$", "$1 $2 UTC");
    }

    private static void entry(StringBuilder html, String name, String value) {
        html.append("<dt>" + Html.text(name) + "</dt><dd>" + Html.text(value) + "</dd>");
    }

    private String comparison() {
        Differences all = new Differences(runs);
        StringBuilder html = new StringBuilder("<section class=\"differences\">");
        if (runs.size() > 1) {
            html.append("<h2>What differs between the runs</h2>\n")
                    .append(
                            all.rows(true).isEmpty()
                                    ? "<p class=\"reason\">Nothing that a record holds, but their times.</p>\n"
                                    : Html.table(all.columns(), all.rows(true)));
        }
        return html.append("<details><summary>All versions, settings and flags</summary>")
                .append(Html.table(all.columns(), all.rows(false)))
                .append("</details></section>\n")
                .toString();
    }

    private static String figure(Chart chart) {
        StringBuilder html =
                new StringBuilder("<figure><figcaption>" + Html.text(chart.title()) + "</figcaption>\n" + chart.svg());
        List<Chart.Key> keys = chart.keys();
        html.append("\n<ul class=\"keys\">");
        for (Chart.Key key : keys.subList(0, Math.min(keys.size(), MOST_KEYS))) {
            html.append("<li><svg viewBox=\"0 0 24 8\" aria-hidden=\"true\"><path d=\"M0 4H24\" "
                    + key.stroke().attributes() + "/></svg>" + Html.text(key.name()) + "</li>");
        }
        if (keys.size() > MOST_KEYS) {
            html.append("<li>and " + (keys.size() - MOST_KEYS) + " more</li>");
        }
        return html.append("</ul>\n<details><summary>Table</summary>")
                .append(Html.table(chart.columns(), chart.rows()))
                .append("</details></figure>\n")
                .toString();
    }
}
