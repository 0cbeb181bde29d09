package io.hvd.report;

import java.util.List;

/** The values of a tag, by step. */
record ChartCurve(String tag, List<Point> points) {
    record Point(long step, double value) {}
}
