package io.hvd;

import io.hvd.config.HvdConfig;
import java.util.List;
import java.util.Map;

/** Ranks as threads of this JVM, with a test's own settings instead of the environment. */
public final class LocalRanks {
    private LocalRanks() {}

    /** Like {@link Hvd#spawn(int, InitOptions, RankBody)}. */
    public static <R> List<R> spawn(int size, InitOptions options, Map<String, String> settings, RankBody<R> body) {
        return RankThreads.alone(size, options, HvdConfig.from(settings)).run(body);
    }
}
