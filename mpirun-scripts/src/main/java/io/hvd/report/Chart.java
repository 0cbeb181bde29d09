package io.hvd.report;

import java.util.List;

/** A drawing of figures, and the same figures as a table. */
sealed interface Chart permits LineChart, BarChart {
    /** Width of the drawing in its own units, in which a letter has about the size of the page's. */
    int WIDTH = 360;
    /** The number of colours. */
    int COLOURS = 8;

    String title();

    /** The inline SVG. */
    String svg();

    List<Key> keys();

    List<String> columns();

    List<List<String>> rows();

    /** The meaning of a colour and a pattern. */
    record Key(String name, Stroke stroke) {}

    /** @param colour number of a colour @param pattern number of a pattern of dashes; 0 for none */
    record Stroke(int colour, int pattern) {
        private static final List<String> DASHES = List.of("none", "6 3", "2 3", "8 3 2 3");

        static Stroke colour(int number) {
            return new Stroke(number % COLOURS, 0);
        }

        /** The attributes of an element that draws a line. */
        String attributes() {
            return "class=\"line c" + colour + "\" stroke-dasharray=\"" + DASHES.get(pattern % DASHES.size()) + "\"";
        }
    }
}
