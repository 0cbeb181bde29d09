package io.hvd.examples.text;

import io.hvd.data.SplitMix64;

/**
 * Text that the program writes itself: sums in words, such as "twenty-one and four are twenty-five.", one per line. A model
 * of it learns to spell, and in the end to add.
 */
final class SumsInWords {
    private static final int MOST = 50;
    private static final String[] SMALL = {
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen"
    };
    private static final String[] TENS = {
        "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"
    };

    private SumsInWords() {}

    /** Text of at least so many characters, which depends on the seed only. */
    static String of(int characters, long seed) {
        SplitMix64 random = new SplitMix64(seed);
        StringBuilder text = new StringBuilder();
        while (text.length() < characters) {
            int first = (int) (random.nextDouble() * MOST);
            int second = (int) (random.nextDouble() * MOST);
            text.append(words(first))
                    .append(" and ")
                    .append(words(second))
                    .append(" are ")
                    .append(words(first + second))
                    .append(".\n");
        }
        return text.toString();
    }

    /** A number from 0 to 99. */
    static String words(int number) {
        if (number < SMALL.length) {
            return SMALL[number];
        }
        return TENS[number / 10] + (number % 10 == 0 ? "" : "-" + SMALL[number % 10]);
    }
}
