package io.hvd.launch.options;

import io.hvd.config.Numerals;
import io.hvd.launch.words.UsageException;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

/**
 * One flag with its value, and where it was given: on the command line or in a config file.
 *
 * @param value empty for a switch
 * @param origin what a message calls it, as in {@code --cycle-time-ms} or {@code job.yaml: params.cycle_time_ms}
 */
record FlagValue(Flag flag, String value, String origin) {

    /** The last one given wins, so that a wrapper's default can be overridden. */
    static Optional<FlagValue> last(Collection<FlagValue> all, Flag flag) {
        return all.stream().filter(given -> given.flag == flag).reduce((first, second) -> second);
    }

    static Optional<String> value(Collection<FlagValue> all, Flag flag) {
        return last(all, flag).map(FlagValue::value);
    }

    static boolean has(Collection<FlagValue> all, Flag flag) {
        return last(all, flag).isPresent();
    }

    static List<String> values(Collection<FlagValue> all, Flag flag) {
        return all.stream()
                .filter(given -> given.flag == flag)
                .map(FlagValue::value)
                .toList();
    }

    /** The value as a whole number within limits. */
    int number(int least, int most) {
        try {
            int number = Numerals.wholeInt(value);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            throw new UsageException(
                    "not-a-number", origin + " " + value + ": \"" + value + "\" is not a whole number");
        }
        throw new UsageException(
                "out-of-range",
                origin + " " + value + ": expected at least " + least
                        + (most == Integer.MAX_VALUE ? "" : " and at most " + most));
    }
}
