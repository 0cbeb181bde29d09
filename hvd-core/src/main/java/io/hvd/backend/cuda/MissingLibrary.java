package io.hvd.backend.cuda;

/** The one line that says which library did not load. JCuda puts whole stack traces into its messages. */
public final class MissingLibrary {
    private static final String ATTEMPT = UnsatisfiedLinkError.class.getName() + ": ";

    private MissingLibrary() {}

    /** The last of several attempts that the first cause tells of, or that cause's first line. */
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
