package io.hvd.config;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Reads one setting at a time and names the variable, what was found and what was expected if it cannot. It
 * remembers what each value means, so that two ways to write the same are seen to be the same.
 */
final class SettingReader {
    private final Map<String, String> environment;
    private final Map<Setting, String> meanings = new EnumMap<>(Setting.class);

    SettingReader(Map<String, String> environment) {
        this.environment = environment;
    }

    /** The value as it was read: a switch as true or false, a number in Java's form; empty if it is not set. */
    String meaning(Setting setting) {
        return meanings.getOrDefault(setting, value(setting));
    }

    private <T> T meant(Setting setting, T value) {
        meanings.put(setting, value.toString());
        return value;
    }

    /** A variable that is set to blanks counts as not set. */
    Optional<String> text(Setting setting) {
        return Optional.ofNullable(environment.get(setting.variable()))
                .map(String::trim)
                .filter(value -> !value.isEmpty());
    }

    /** A value with a form of its own, which the parser gives nothing else. */
    <T> Optional<T> parsed(Setting setting, Function<String, Optional<T>> parser, String expected) {
        return text(setting)
                .map(value -> meant(setting, parser.apply(value).orElseThrow(() -> bad(setting, value, expected))));
    }

    Optional<Path> path(Setting setting) {
        return text(setting).map(Path::of);
    }

    String value(Setting setting) {
        return text(setting).orElse(setting.defaultValue());
    }

    /** Words in any case. */
    <E extends Enum<E>> E choice(Setting setting, Class<E> choices) {
        return choice(setting, choices, "");
    }

    /** @param others what else the setting may be, as an error says it; empty if nothing */
    <E extends Enum<E>> E choice(Setting setting, Class<E> choices, String others) {
        String value = value(setting);
        E[] all = choices.getEnumConstants();
        return Arrays.stream(all)
                .filter(choice -> choice.name().equalsIgnoreCase(value))
                .findFirst()
                .map(choice -> meant(setting, choice))
                .orElseThrow(() -> bad(
                        setting,
                        value,
                        Arrays.stream(all)
                                .map(choice -> choice.name().toLowerCase(Locale.ROOT))
                                .collect(Collectors.joining(", ", "", others))));
    }

    /** The value without a prefix, in lower case; empty if it has another one. */
    Optional<String> after(String prefix, Setting setting) {
        String value = value(setting).toLowerCase(Locale.ROOT);
        return value.startsWith(prefix) && value.length() > prefix.length()
                ? Optional.of(meant(setting, value).substring(prefix.length()))
                : Optional.empty();
    }

    /** Stricter than Horovod, which reads "true" as 0. */
    boolean flag(Setting setting) {
        String value = value(setting);
        return meant(setting, Switches.parse(value).orElseThrow(() -> bad(setting, value, Switches.WORDS)));
    }

    /** Empty if the switch is not set, which then means neither on nor off. */
    Optional<Boolean> flagIfSet(Setting setting) {
        return text(setting).map(given -> flag(setting));
    }

    long atLeast(Setting setting, long least) {
        String value = value(setting);
        try {
            long number = Numerals.whole(value);
            if (number >= least) {
                return meant(setting, number);
            }
        } catch (NumberFormatException e) {
            // answered below, like a number that is too small
        }
        throw bad(setting, value, "a whole number of at least " + least);
    }

    int between(Setting setting, int least, int most) {
        String value = value(setting);
        try {
            int number = Numerals.wholeInt(value);
            if (number >= least && number <= most) {
                return meant(setting, number);
            }
        } catch (NumberFormatException e) {
            // answered below, like a number out of range
        }
        throw bad(setting, value, "a whole number from " + least + " to " + most);
    }

    double between(Setting setting, double least, double most, String unit) {
        String value = value(setting);
        try {
            double number = Numerals.decimal(value);
            if (number >= least && number <= most) {
                return meant(setting, number);
            }
        } catch (NumberFormatException e) {
            // answered below, like a number out of range
        }
        throw bad(setting, value, "a number" + unit + " from " + least + " to " + most);
    }

    private static HvdException bad(Setting setting, String found, String expected) {
        return new HvdException(
                ErrorId.BAD_SETTING,
                setting.variable() + " is \"" + found + "\", expected " + expected + ": " + setting.meaning());
    }
}
