package io.hvd.trace;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class CallSiteTest {
    /** Else a line of the library is taken for one of the program, where a thread waits in a package that is new. */
    @Test
    void everyPackageOfTheLibraryIsKnown() throws IOException, URISyntaxException {
        Path classes = Path.of(CallSite.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        Set<String> unknown;
        try (Stream<Path> files = Files.walk(classes)) {
            unknown = files.filter(file -> file.toString().endsWith(".class"))
                    .map(file -> classes.relativize(file.getParent()).toString().replace('/', '.'))
                    .filter(name -> !isOurs(name))
                    .collect(Collectors.toSet());
        }
        assertThat(unknown).isEmpty();
        assertThat(isOurs("io.hvd.examples")).isFalse();
    }

    private static boolean isOurs(String packageName) {
        StackTraceElement frame = new StackTraceElement(packageName + ".Some", "method", "Some.java", 1);
        return CallSite.isInsideHvd(new StackTraceElement[] {frame});
    }
}
