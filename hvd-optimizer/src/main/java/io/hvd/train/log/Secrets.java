package io.hvd.train.log;

import java.util.regex.Pattern;

/** Keeps values out of files whose names say that they are nobody's business. */
final class Secrets {
    static final String STARS = "***";

    private static final String NAME = "[\\w.-]*(?:SECRET|PASSWORD|PASSWD|PASSPHRASE|TOKEN|CREDENTIAL|KEY)[\\w.-]*";
    private static final Pattern WHOLE_NAME = Pattern.compile(NAME, Pattern.CASE_INSENSITIVE);
    private static final Pattern ASSIGNMENT = Pattern.compile("(--?" + NAME + "[= ])\\S+", Pattern.CASE_INSENSITIVE);

    private Secrets() {}

    static boolean isSecret(String name) {
        return WHOLE_NAME.matcher(name).matches();
    }

    /** Hides the values of such flags in a command line. */
    static String hidden(String line) {
        return ASSIGNMENT.matcher(line).replaceAll("$1***");
    }
}
