package io.hvd.cuda;

/** Finds the one line that says which library did not load; JCuda's messages contain whole stack traces. */
public final class MissingLibrary {
    private static final String ATTEMPT = UnsatisfiedLinkError.class.getName() + ": ";

    private MissingLibrary() {}

    /** The last of the attempts in the message of the first cause, or the first line of that message. */
    public static String named(Throwable error) {
        Throwable first = error;
        while (first.getCause() != null) {
            first = first.getCause();
        }
        String text = first.toString();
        return text.lines()
                .filter(line -> line.startsWith(ATTEMPT))
                .reduce((one, next) -> next)
                .or(() -> text.lines().findFirst())
                .orElse("")
                .strip();
    }
}
