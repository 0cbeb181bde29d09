package io.hvd.benchmarks;

import io.hvd.config.Numerals;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.commons.cli.ParseException;

/**
 * The values of the flags that only {@code bench-model.sh} has.
 *
 * @param calibration jobs that the model is fitted to
 * @param check other jobs, or the same jobs with other sizes, to check the model with
 * @param launcherWords further arguments of the launcher, such as the port of ssh
 * @param coresShared whether the hosts are parts of one machine
 * @param shortest whether the shortest of all rounds counts instead of the median
 * @param out file to which the model is written
 */
record ModelPlan(
        List<ModelJob> calibration,
        List<ModelJob> check,
        List<Long> checkSizes,
        List<String> launcherWords,
        boolean coresShared,
        boolean shortest,
        Path out) {

    static Map<String, String> flags() {
        Map<String, String> flags = new LinkedHashMap<>();
        flags.put("hosts", "calibrate between hosts too: host lists for the launcher, such as a:1,b:1/a:2,b:2");
        flags.put("check-ranks", "numbers of ranks on this host to check the model with; default those of --ranks");
        flags.put("check-hosts", "host lists to check the model with; default those of --hosts");
        flags.put(
                "check-sizes",
                "sizes to check the model with, none of which is in --sizes; default sizes between every second pair of those");
        flags.put("launcher-flags", "more words for the launcher, such as \"-p 2222 -i key\"");
        flags.put("cores-shared", "true if the hosts are parts of this machine");
        flags.put("shortest", "true to take the shortest of all rounds instead of the median, on a busy machine");
        flags.put("out", "file for the model; default cost-model.json");
        return flags;
    }

    static ModelPlan of(MeasurementPlan plan) throws ParseException {
        Map<String, String> own = plan.own();
        List<ModelJob> calibration = new ArrayList<>(onThisHost(plan.ranks()));
        calibration.addAll(onHosts(own.getOrDefault("hosts", "")));
        List<ModelJob> check = new ArrayList<>(
                own.containsKey("check-ranks")
                        ? onThisHost(Bench.numbers("check-ranks", own.get("check-ranks"), Numerals::wholeInt))
                        : onThisHost(plan.ranks()));
        check.addAll(onHosts(own.getOrDefault("check-hosts", own.getOrDefault("hosts", ""))));
        String flags = own.getOrDefault("launcher-flags", "").strip();
        return new ModelPlan(
                calibration,
                check,
                checkSizes(plan),
                flags.isEmpty() ? List.of() : List.of(flags.split("\\s+")),
                truth(own, "cores-shared"),
                truth(own, "shortest"),
                Path.of(own.getOrDefault("out", "cost-model.json")));
    }

    private static List<Long> checkSizes(MeasurementPlan plan) throws ParseException {
        String asked = plan.own().get("check-sizes");
        if (asked == null) {
            return everyOtherBetween(plan.sizes());
        }
        List<Long> sizes = Bench.numbers("check-sizes", asked, Bench::size);
        for (long size : sizes) {
            if (plan.sizes().contains(size)) {
                throw new ParseException(
                        "--check-sizes has " + size + ", to which the model is fitted: --sizes " + plan.sizesInWords());
            }
        }
        return sizes;
    }

    /** Default sizes to check with, which are multiples of a float. */
    private static List<Long> everyOtherBetween(List<Long> sizes) {
        List<Long> between = new ArrayList<>();
        for (int i = 0; i + 1 < sizes.size(); i += 2) {
            long middle = (long) Math.sqrt((double) sizes.get(i) * sizes.get(i + 1));
            between.add(middle / Float.BYTES * Float.BYTES);
        }
        return between;
    }

    private static List<ModelJob> onThisHost(List<Integer> ranks) {
        return ranks.stream().map(ModelJob::here).toList();
    }

    private static List<ModelJob> onHosts(String lists) throws ParseException {
        List<ModelJob> jobs = new ArrayList<>();
        for (String list : lists.isEmpty() ? new String[0] : lists.split("/")) {
            jobs.add(ModelJob.on(list));
        }
        return jobs;
    }

    private static boolean truth(Map<String, String> own, String flag) throws ParseException {
        String word = own.getOrDefault(flag, "false");
        if (!word.equals("true") && !word.equals("false")) {
            throw new ParseException("--" + flag + " has \"" + word + "\", expected true or false");
        }
        return word.equals("true");
    }
}
