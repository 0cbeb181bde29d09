package io.hvd.config;

import java.nio.file.Path;
import java.util.Optional;

/**
 * Whether a timeline is written.
 *
 * @param file written from init on, if present
 * @param dynamic the program may start and stop it
 */
public record TimelineSettings(Optional<Path> file, boolean dynamic, boolean markCycles) {
    private static final String DYNAMIC = "DYNAMIC";

    static TimelineSettings from(SettingReader reader) {
        Optional<String> wanted = reader.text(Setting.TIMELINE);
        boolean dynamic = wanted.filter(DYNAMIC::equals).isPresent();
        return new TimelineSettings(
                dynamic ? Optional.empty() : wanted.map(Path::of), dynamic, reader.flag(Setting.TIMELINE_MARK_CYCLES));
    }
}
