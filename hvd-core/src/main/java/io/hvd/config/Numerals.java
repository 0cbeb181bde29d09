package io.hvd.config;

import java.util.regex.Pattern;

/**
 * Numbers out of foreign text: settings, flags, files. Java's own readers take the digits of every script, and for decimals
 * hexadecimal digits and type suffixes too; whatever else reads the same text, Horovod or a shell, does not.
 */
public final class Numerals {
    private static final Pattern WHOLE = Pattern.compile("[+-]?[0-9]{1,19}");
    private static final Pattern DECIMAL =
            Pattern.compile("[+-]?([0-9]{1,400}(\\.[0-9]{0,400})?|\\.[0-9]{1,400})([eE][+-]?[0-9]{1,4})?");

    private Numerals() {}

    /** @throws NumberFormatException if it is anything but a sign and the digits 0 to 9, or too large */
    public static long whole(String text) {
        return Long.parseLong(checked(WHOLE, text));
    }

    /** @throws NumberFormatException as in {@link #whole} */
    public static int wholeInt(String text) {
        return Integer.parseInt(checked(WHOLE, text));
    }

    /** @throws NumberFormatException if it is not digits 0 to 9 with a sign, a point and an exponent at most */
    public static double decimal(String text) {
        return Double.parseDouble(checked(DECIMAL, text));
    }

    private static String checked(Pattern form, String text) {
        if (!form.matcher(text).matches()) {
            throw new NumberFormatException("not a number in the digits 0 to 9");
        }
        return text;
    }
}
