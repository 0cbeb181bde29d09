package io.hvd.top;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.hvd.top.OpenPages.Sighting;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** The ranks of this host at one time. */
record JobSnapshot(List<Job> jobs) {

    /** The ranks of a job that this host has. */
    record Job(String name, String program, int size, List<Row> ranks) {
        /** The ranks that have been on this host and have no page: they have ended, or do not want to be seen. */
        List<Integer> gone() {
            return ranks.get(0).page().localRanks().stream()
                    .filter(rank -> ranks.stream().noneMatch(row -> row.page().rank() == rank))
                    .toList();
        }
    }

    /**
     * A rank.
     *
     * @param waitedForBy the ranks of this host that wait for it
     * @param rateKnown false if the page is too old to tell a rate
     */
    record Row(Sighting sighting, RankActivity doing, List<Integer> waitedForBy, double cpuPercent, boolean rateKnown) {
        RankPage page() {
            return sighting.page();
        }
    }

    /** @param earlier an earlier look at the same host, from which on time on the CPU counts */
    static JobSnapshot of(List<Sighting> now, List<Sighting> earlier, long nowNanos) {
        Map<String, List<Sighting>> byJob = new LinkedHashMap<>();
        now.forEach(one -> byJob.computeIfAbsent(one.page().job(), name -> new ArrayList<>())
                .add(one));
        return new JobSnapshot(byJob.values().stream()
                .map(ranks -> job(ranks, earlier, nowNanos))
                .toList());
    }

    private static Job job(List<Sighting> ranks, List<Sighting> earlier, long nowNanos) {
        Map<Integer, RankActivity> doing = new LinkedHashMap<>();
        ranks.forEach(one -> doing.put(one.page().rank(), RankActivity.of(one, ranks, nowNanos)));
        List<Row> rows = ranks.stream().map(one -> row(one, doing, earlier)).toList();
        RankPage first = ranks.get(0).page();
        return new Job(first.job(), first.program(), first.size(), rows);
    }

    private static Row row(Sighting one, Map<Integer, RankActivity> doing, List<Sighting> earlier) {
        int rank = one.page().rank();
        List<Integer> waitedForBy = doing.entrySet().stream()
                .filter(other -> other.getValue().waitingFor().contains(rank))
                .map(Map.Entry::getKey)
                .toList();
        Optional<ProcessFacts> before = earlier.stream()
                .map(Sighting::process)
                .filter(process -> process.pid() == one.process().pid())
                .findFirst();
        RankActivity.State state = doing.get(rank).state();
        boolean rateKnown = state != RankActivity.State.STOPPED && state != RankActivity.State.SILENT;
        return new Row(one, doing.get(rank), waitedForBy, one.process().cpuPercent(before), rateKnown);
    }

    JsonObject json() {
        JsonArray all = new JsonArray();
        jobs.forEach(job -> all.add(json(job)));
        JsonObject report = new JsonObject();
        report.add("jobs", all);
        return report;
    }

    private static JsonObject json(Job job) {
        JsonArray ranks = new JsonArray();
        job.ranks.forEach(row -> ranks.add(json(row)));
        JsonObject object = new JsonObject();
        object.addProperty("job", job.name);
        object.addProperty("program", job.program);
        object.addProperty("size", job.size);
        object.add("gone", array(job.gone()));
        object.add("ranks", ranks);
        return object;
    }

    private static JsonObject json(Row row) {
        RankPage page = row.page();
        JsonObject object = new JsonObject();
        object.addProperty("rank", page.rank());
        object.addProperty("host", page.host());
        object.addProperty("pid", row.sighting.process().pid());
        object.addProperty("state", row.doing.state().name().toLowerCase(Locale.ROOT));
        object.addProperty("doing", row.doing.text());
        object.addProperty("sinceMillis", row.doing.sinceMillis());
        object.add("waitingFor", array(row.doing.waitingFor()));
        object.add("waitedForBy", array(row.waitedForBy));
        object.addProperty("steps", page.steps());
        object.addProperty("calls", page.calls());
        if (row.rateKnown) {
            object.addProperty("stepsPerSecond", page.stepsPerSecond());
            object.addProperty("callsPerSecond", page.callsPerSecond());
        }
        object.addProperty("cpuPercent", Math.round(row.cpuPercent));
        object.addProperty("residentBytes", row.sighting.process().residentBytes());
        object.addProperty("heapUsedBytes", page.heapUsed());
        object.addProperty("heapMostBytes", page.heapMost());
        object.addProperty("last", page.last() == null ? "" : page.last().words());
        return object;
    }

    private static JsonArray array(List<Integer> numbers) {
        JsonArray array = new JsonArray();
        numbers.forEach(array::add);
        return array;
    }
}
