package io.hvd.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The classes of the module whose tests run, as they were compiled, nested ones included. */
public final class ModuleClasses {
    private static final Path ROOT = Path.of("target", "classes");

    private ModuleClasses() {}

    /** Loaded, not initialised. */
    public static List<Class<?>> all() {
        try (Stream<Path> files = Files.walk(ROOT)) {
            return files.filter(file -> file.toString().endsWith(".class"))
                    .map(file -> ROOT.relativize(file).toString())
                    // Those of META-INF need a newer Java than the one that runs the tests.
                    .filter(file -> !file.startsWith("META-INF"))
                    .filter(file -> !file.equals("module-info.class") && !file.endsWith("package-info.class"))
                    .sorted()
                    .<Class<?>>map(ModuleClasses::load)
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Class<?> load(String file) {
        String name = file.substring(0, file.length() - ".class".length()).replace('/', '.');
        try {
            return Class.forName(name, false, ModuleClasses.class.getClassLoader());
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }
}
