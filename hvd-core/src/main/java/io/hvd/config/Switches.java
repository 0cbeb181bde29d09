package io.hvd.config;

import java.util.Locale;
import java.util.Optional;

/** The ways in which people write on and off. */
final class Switches {
    static final String WORDS = "1, true, yes, on, 0, false, no or off";

    private Switches() {}

    /** Empty if it is neither. */
    static Optional<Boolean> parse(String value) {
        return switch (value.toLowerCase(Locale.ROOT)) {
            case "1", "true", "yes", "on" -> Optional.of(true);
            case "0", "false", "no", "off" -> Optional.of(false);
            default -> Optional.empty();
        };
    }
}
