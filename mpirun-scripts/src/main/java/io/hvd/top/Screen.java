package io.hvd.top;

import io.hvd.top.JobSnapshot.Job;
import io.hvd.top.JobSnapshot.Row;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A snapshot as lines of text. */
final class Screen {
    private static final String HEAD = "rank      pid  steps/s  calls/s   cpu%     memory            heap  now";
    private static final double MIB = 1 << 20;

    private Screen() {}

    static List<String> lines(JobSnapshot snapshot) {
        List<String> lines = new ArrayList<>();
        for (Job job : snapshot.jobs()) {
            lines.add("job " + job.name() + "  " + job.program() + "  " + job.size() + " ranks, " + seen(job));
            lines.add(HEAD);
            job.ranks().forEach(row -> lines.add(line(row)));
            lines.add("");
        }
        if (lines.isEmpty()) {
            lines.add("no process of this user on this host is a rank of hvd (or HVD_STATUS_PAGE=0)");
        }
        return lines;
    }

    private static String seen(Job job) {
        if (job.ranks().size() == job.size()) {
            return "all on this host";
        }
        String gone = job.gone().isEmpty() ? "" : "; gone from this host: " + RankActivity.ranks(job.gone());
        boolean hasOthers = job.ranks().size() + job.gone().size() < job.size();
        return job.ranks().size() + " of them on this host" + gone + (hasOthers ? "; the others are not shown" : "");
    }

    private static String line(Row row) {
        RankPage page = row.page();
        String by = row.waitedForBy().isEmpty() ? "" : "; waited for by " + row.waitedForBy();
        String last = page.last() == null ? "" : "; last " + page.last().words();
        return String.format(
                Locale.ROOT,
                "%4d %8d %8s %8s %6.0f %6.0f MiB %5.0f of %5.0f MiB  %s",
                page.rank(),
                row.sighting().process().pid(),
                rate(page.stepsPerSecond(), row.rateKnown()),
                rate(page.callsPerSecond(), row.rateKnown()),
                row.cpuPercent(),
                row.sighting().process().residentBytes() / MIB,
                page.heapUsed() / MIB,
                page.heapMost() / MIB,
                row.doing().text() + by + last);
    }

    private static String rate(double rate, boolean known) {
        return known ? String.format(Locale.ROOT, "%.1f", rate) : "-";
    }
}
