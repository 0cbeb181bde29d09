package io.hvd.contract.program;

import io.hvd.contract.program.ProgramId.Pace;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The settings of the programs of a block of seeds. */
public final class JobSettings {
    /** Seconds after which a monitor ends a job, where it is to be short; a rank computes longer only in a phase. */
    static final int SHORT_STALL_SECONDS = 4;

    private JobSettings() {}

    public static Map<String, String> of(ProgramId id) {
        Draw draw = new Draw(Draw.mixed(id.block(), id.pace().ordinal()));
        Map<String, String> settings = new TreeMap<>();
        settings.put(
                "HVD_STATIC_PLAN_STEPS",
                id.pace() == Pace.SLOW ? draw.one("2", "3", "3") : draw.one("2", "2", "3", "3", "10"));
        choose(settings, draw, "HOROVOD_FUSION_THRESHOLD", "", "", "", "0", "4096", "65536");
        choose(settings, draw, "HOROVOD_CYCLE_TIME", "", "", "0", "5");
        if (id.pace() == Pace.QUICK) { // without a cache no plan is fixed, which slow programs are about
            choose(settings, draw, "HOROVOD_CACHE_CAPACITY", "", "", "", "", "", "0", "3");
        }
        choose(settings, draw, "HVD_STAGE_BYTES", "", "", "4096", "65536");
        choose(settings, draw, "HOROVOD_DISABLE_GROUP_FUSION", "", "", "", "1");
        choose(settings, draw, "HVD_ALLREDUCE_ALGORITHM", "", "", "mpi", "ring");
        if (id.pace() == Pace.SLOW && draw.chance(0.4)) {
            settings.put("HOROVOD_STALL_CHECK_TIME_SECONDS", "2");
            settings.put("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", String.valueOf(SHORT_STALL_SECONDS));
        }
        if (draw.chance(0.4)) {
            tuneAllTheTime(settings);
        }
        settings.put("HOROVOD_LOG_LEVEL", "error");
        // A program that is run again may be wanted with another setting.
        settings.replaceAll((name, value) -> System.getenv().getOrDefault(name, value));
        settings.put("HVD_REPORT_DIR", System.getProperty("java.io.tmpdir"));
        return settings;
    }

    /** Other settings after every few steps, until the program ends. */
    private static void tuneAllTheTime(Map<String, String> settings) {
        settings.keySet().removeAll(List.of("HOROVOD_FUSION_THRESHOLD", "HOROVOD_CYCLE_TIME"));
        settings.put("HOROVOD_AUTOTUNE", "1");
        settings.put("HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "0");
        settings.put("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "1");
        settings.put("HVD_AUTOTUNE_SAMPLE_MILLIS", "0");
        settings.put("HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "1000");
    }

    private static void choose(Map<String, String> settings, Draw draw, String name, String... values) {
        String value = draw.one(values);
        if (!value.isEmpty()) {
            settings.put(name, value);
        }
    }

    /** With so few bytes an operation takes much less than a rank computes, also where six ranks share two cores. */
    static int mostBytes(Map<String, String> settings) {
        int stage = Integer.parseInt(settings.getOrDefault("HVD_STAGE_BYTES", "1000000"));
        return Math.min(400_000, 20 * stage);
    }

    static int planSteps(Map<String, String> settings) {
        return Integer.parseInt(settings.get("HVD_STATIC_PLAN_STEPS"));
    }

    public static boolean endsStallsEarly(Map<String, String> settings) {
        return settings.containsKey("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS");
    }
}
