package io.hvd.report;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.List;
import java.util.Locale;

/** Texts and numbers as they stand in a page. */
final class Html {
    private static final int LARGE = 1_000_000;
    private static final double SMALL = 1e-4;
    private static final MathContext FOUR_DIGITS = new MathContext(4);

    private Html() {}

    /** A text in which nothing is markup, for between tags and in attributes. */
    static String text(String any) {
        StringBuilder escaped = new StringBuilder();
        String.valueOf(any).codePoints().forEach(one -> {
            switch (one) {
                case '&' -> escaped.append("&amp;");
                case '<' -> escaped.append("&lt;");
                case '>' -> escaped.append("&gt;");
                case '"' -> escaped.append("&quot;");
                case '\'' -> escaped.append("&#39;");
                default -> escaped.appendCodePoint(isShown(one) ? one : 0xFFFD);
            }
        });
        return escaped.toString();
    }

    private static boolean isShown(int one) {
        boolean surrogate = one >= Character.MIN_SURROGATE && one <= Character.MAX_SURROGATE;
        return one == '\n' || one == '\t' || !surrogate && !Character.isISOControl(one);
    }

    /** A number with four digits that matter. */
    static String number(double value) {
        if (!Double.isFinite(value)) {
            return String.valueOf(value);
        }
        double size = Math.abs(value);
        if (size != 0 && (size >= LARGE || size < SMALL)) {
            return String.format(Locale.ROOT, "%.3e", value);
        }
        if (size >= 1000) {
            return String.valueOf(Math.round(value));
        }
        return new BigDecimal(value).round(FOUR_DIGITS).stripTrailingZeros().toPlainString();
    }

    /** A table that scrolls by itself where it is wider than the page. */
    static String table(List<String> titles, List<List<String>> rows) {
        StringBuilder table = new StringBuilder("<div class=\"wide\"><table><thead><tr>");
        titles.forEach(
                title -> table.append("<th scope=\"col\">").append(text(title)).append("</th>"));
        table.append("</tr></thead><tbody>");
        for (List<String> row : rows) {
            table.append("<tr>");
            row.forEach(cell -> table.append("<td>").append(text(cell)).append("</td>"));
            table.append("</tr>");
        }
        return table.append("</tbody></table></div>\n").toString();
    }
}
