package io.hvd.benchmarks;

import io.hvd.benchmarks.cost.JobShape;
import io.hvd.config.Numerals;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
 * @param model file of an earlier model, to predict with and to check; without it a model is fitted
 * @param linkBytesPerSecond what the links carry that the jobs are measured with; infinite if nothing limits them
 * @param predict jobs to predict, which are not measured
 * @param rates what the links carry in these, in bytes per second
 * @param ownCores cores of each host in these; 0 for those of the model
 */
record ModelPlan(
        List<ModelJob> calibration,
        List<ModelJob> check,
        List<Long> checkSizes,
        List<String> launcherWords,
        boolean coresShared,
        boolean shortest,
        Path out,
        Optional<Path> model,
        double linkBytesPerSecond,
        List<JobShape> predict,
        List<Double> rates,
        int ownCores) {

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
        flags.put("link", "bits per second that a host's link carries now, as plain TCP counts them, such as 941M");
        flags.put("model", "file of a model to predict with and to check, instead of fitting one");
        flags.put(
                "predict",
                "print what is predicted for jobs, such as 8x4,1250x8: hosts x ranks on each, with --check-sizes");
        flags.put("rates", "bits per second of the links in these jobs, such as 941M,9.41G; default no limit");
        flags.put("cores", "cores that each host in these jobs has of its own; default those of the model");
        return flags;
    }

    static ModelPlan of(MeasurementPlan plan) throws ParseException {
        Map<String, String> own = plan.own();
        Optional<Path> model = Optional.ofNullable(own.get("model")).map(Path::of);
        List<ModelJob> calibration = new ArrayList<>();
        List<ModelJob> check = new ArrayList<>();
        if (model.isEmpty()) {
            calibration.addAll(onThisHost(plan.ranks()));
            calibration.addAll(onHosts(own.getOrDefault("hosts", "")));
            check.addAll(calibration);
        }
        if (own.containsKey("check-ranks")) {
            check.removeIf(job -> job.hosts().isEmpty());
            check.addAll(onThisHost(Bench.numbers("check-ranks", own.get("check-ranks"), Numerals::wholeInt)));
        }
        if (own.containsKey("check-hosts")) {
            check.removeIf(job -> job.hosts().isPresent());
            check.addAll(onHosts(own.get("check-hosts")));
        }
        String flags = own.getOrDefault("launcher-flags", "").strip();
        return new ModelPlan(
                calibration,
                check,
                checkSizes(plan),
                flags.isEmpty() ? List.of() : List.of(flags.split("\\s+")),
                truth(own, "cores-shared"),
                truth(own, "shortest"),
                Path.of(own.getOrDefault("out", "cost-model.json")),
                model,
                own.containsKey("link") ? rate("link", own.get("link")) : Double.POSITIVE_INFINITY,
                shapes(own),
                rates(own),
                own.containsKey("cores")
                        ? Bench.numbers("cores", own.get("cores"), Numerals::wholeInt)
                                .get(0)
                        : 0);
    }

    /** Whether there is anything to measure. */
    boolean measures() {
        return !calibration.isEmpty() || !check.isEmpty();
    }

    private static List<JobShape> shapes(Map<String, String> own) throws ParseException {
        List<JobShape> shapes = new ArrayList<>();
        for (String word : words(own, "predict")) {
            if (!word.matches("[1-9]\\d{0,5}x[1-9]\\d{0,2}")) {
                throw new ParseException(
                        "--predict has \"" + word + "\", expected hosts x ranks on each of them, as in 8x4");
            }
            int at = word.indexOf('x');
            int hosts = Integer.parseInt(word.substring(0, at));
            shapes.add(new JobShape(hosts * Integer.parseInt(word.substring(at + 1)), hosts));
        }
        return shapes;
    }

    private static List<Double> rates(Map<String, String> own) throws ParseException {
        List<Double> rates = new ArrayList<>();
        for (String word : words(own, "rates")) {
            rates.add(rate("rates", word));
        }
        return rates.isEmpty() ? List.of(Double.POSITIVE_INFINITY) : rates;
    }

    private static List<String> words(Map<String, String> own, String flag) {
        return own.containsKey(flag) ? List.of(own.get(flag).split(",")) : List.of();
    }

    /** Reads bits per second, such as {@code 9.41G}; as everywhere with rates, 1K is 1000. @return bytes per second */
    private static double rate(String flag, String word) throws ParseException {
        if (!word.matches("\\d{1,9}(\\.\\d{1,9})?[KMG]") || !word.matches(".*[1-9].*")) {
            throw new ParseException(
                    "--" + flag + " has \"" + word + "\", expected bits per second, as in 941M or 9.41G");
        }
        double number = Double.parseDouble(word.substring(0, word.length() - 1));
        double unit = word.endsWith("K") ? 1e3 : word.endsWith("M") ? 1e6 : 1e9;
        return number * unit / Byte.SIZE;
    }

    private static List<Long> checkSizes(MeasurementPlan plan) throws ParseException {
        String asked = plan.own().get("check-sizes");
        if (asked == null) {
            return everyOtherBetween(plan.sizes());
        }
        List<Long> sizes = Bench.numbers("check-sizes", asked, Bench::size);
        for (long size : sizes) {
            if (!plan.own().containsKey("model") && plan.sizes().contains(size)) {
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
