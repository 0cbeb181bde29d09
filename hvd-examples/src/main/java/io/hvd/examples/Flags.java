package io.hvd.examples;

import io.hvd.config.Numerals;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.DoublePredicate;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.ParseException;

/** Makes flags, and reads their values within bounds. Error messages contain the flag's name. */
public final class Flags {
    private Flags() {}

    /** A flag with a value and no short form. */
    public static Option valued(String name, String meaning) {
        return valued(null, name, meaning);
    }

    public static Option valued(String letter, String name, String meaning) {
        return Option.builder(letter).longOpt(name).hasArg().desc(meaning).get();
    }

    public static Optional<Path> path(CommandLine line, String name) {
        return Optional.ofNullable(line.getOptionValue(name)).map(Path::of);
    }

    /**
     * @param allowed whether a number is allowed, which {@code expected} says in words; infinity and NaN never are
     */
    public static double decimal(
            CommandLine line, String name, double otherwise, DoublePredicate allowed, String expected)
            throws ParseException {
        String value = line.getOptionValue(name);
        try {
            double number = value == null ? otherwise : Numerals.decimal(value);
            if (Double.isFinite(number) && allowed.test(number)) {
                return number;
            }
        } catch (NumberFormatException e) {
            // answered below, like a number out of range
        }
        throw new ParseException("--" + name + " is \"" + value + "\", expected a number " + expected);
    }

    public static long number(CommandLine line, String name, long otherwise, long least) throws ParseException {
        return number(line, name, otherwise, least, Long.MAX_VALUE);
    }

    /** A whole number that fits into an int. */
    public static int count(CommandLine line, String name, int otherwise, int least) throws ParseException {
        return count(line, name, otherwise, least, Integer.MAX_VALUE);
    }

    public static int count(CommandLine line, String name, int otherwise, int least, int most) throws ParseException {
        return (int) number(line, name, otherwise, least, most);
    }

    public static String oneOf(CommandLine line, String name, List<String> words) throws ParseException {
        String value = line.getOptionValue(name, words.get(0));
        if (!words.contains(value)) {
            throw new ParseException("--" + name + " is \"" + value + "\", expected one of " + words);
        }
        return value;
    }

    private static long number(CommandLine line, String name, long otherwise, long least, long most)
            throws ParseException {
        String value = line.getOptionValue(name);
        try {
            long number = value == null ? otherwise : Numerals.whole(value);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // answered below, like a number out of range
        }
        throw new ParseException("--" + name + " is \"" + value + "\", expected a whole number of at least " + least
                + (most < Long.MAX_VALUE ? " and at most " + most : ""));
    }
}
