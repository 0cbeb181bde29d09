package io.hvd.examples.gpu;

/**
 * One check and its outcome.
 *
 * @param reason what was seen, or why the check was not run
 */
record CheckLine(String name, Outcome outcome, String reason) {
    /** The outcomes, from good to bad. */
    enum Outcome {
        PASS("pass"),
        NOT_RUN("not-run"),
        FAIL("fail");

        private final String word;

        Outcome(String word) {
            this.word = word;
        }
    }

    /** The line with the worse outcome; the first one if both outcomes are the same. */
    static CheckLine worse(CheckLine a, CheckLine b) {
        return b.outcome.compareTo(a.outcome) > 0 ? b : a;
    }

    String encode() {
        return name + "\n" + outcome + "\n" + reason;
    }

    static CheckLine decode(String text) {
        String[] parts = text.split("\n", 3);
        return new CheckLine(parts[0], Outcome.valueOf(parts[1]), parts[2]);
    }

    @Override
    public String toString() {
        return "CHECK " + name + " " + outcome.word + " " + reason;
    }
}
