package io.hvd;

import io.hvd.job.RankThreads;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Ranks as threads of this JVM, with a test's own settings instead of the environment. */
public final class LocalRanks {
    private LocalRanks() {}

    /** Like {@link Hvd#spawn(int, InitOptions, RankBody)}. */
    public static <R> List<R> spawn(int size, InitOptions options, Map<String, String> settings, RankBody<R> body) {
        Map<String, String> all = new HashMap<>(Map.of("HVD_REPORT_DIR", reports()));
        all.putAll(settings);
        return RankThreads.alone(size, options.processSets(), all).run(Hvd.onRank(options, body));
    }

    /** Where the build has them, which is no place that is under version control. */
    private static String reports() {
        return System.getenv().getOrDefault("HVD_REPORT_DIR", System.getProperty("java.io.tmpdir"));
    }
}
