package io.hvd.testing;

import java.util.List;
import java.util.Locale;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

/**
 * Runs a third of all test classes as on a Turkish machine, where "i" and "I" are not the same letter, and a third as on an
 * Egyptian one, which has other digits than 0 to 9. Which class is run how depends on its name alone, so that a failure can be
 * repeated; {@code -Dhvd.test.locale=ar-EG} runs all of them in one. The programs that {@link Job} starts have the same.
 *
 * <p>JUnit finds it by {@code META-INF/services}, in all modules and inside mpirun.
 */
public final class LocaleOfTheClass implements TestExecutionListener {
    private static final Locale OF_THE_MACHINE = Locale.getDefault();
    private static final List<Locale> LOCALES =
            List.of(OF_THE_MACHINE, Locale.forLanguageTag("tr-TR"), Locale.forLanguageTag("ar-EG"));

    @Override
    public void executionStarted(TestIdentifier test) {
        if (isClass(test)) {
            Locale.setDefault(of(((ClassSource) test.getSource().orElseThrow()).getClassName()));
        }
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (test.isTest() && result.getStatus() == TestExecutionResult.Status.FAILED) {
            System.err.println(test.getDisplayName() + " failed with -Dhvd.test.locale="
                    + Locale.getDefault().toLanguageTag());
        }
        if (isClass(test)) {
            Locale.setDefault(OF_THE_MACHINE);
        }
    }

    /** The flags that give a JVM this one's locale. */
    static List<String> flags() {
        Locale locale = Locale.getDefault();
        return locale.equals(OF_THE_MACHINE)
                ? List.of()
                : List.of("-Duser.language=" + locale.getLanguage(), "-Duser.country=" + locale.getCountry());
    }

    private static boolean isClass(TestIdentifier test) {
        return test.isContainer()
                && test.getSource().filter(ClassSource.class::isInstance).isPresent();
    }

    private static Locale of(String className) {
        String asked = System.getProperty("hvd.test.locale", "");
        String outer = className.replaceFirst("\\$.*", "");
        return asked.isEmpty()
                ? LOCALES.get(Math.floorMod(outer.hashCode(), LOCALES.size()))
                : Locale.forLanguageTag(asked);
    }
}
