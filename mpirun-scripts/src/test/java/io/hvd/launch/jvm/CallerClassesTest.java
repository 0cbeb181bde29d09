package io.hvd.launch.jvm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import io.hvd.launch.ArgvProgram;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.loader.launch.LaunchedClassLoader;

/** Programs that come to HvdLauncher from class loaders of all kinds. */
final class CallerClassesTest {

    private static final String NAME = ArgvProgram.class.getName();

    @TempDir
    private Path folder;

    private final Properties properties = new Properties();
    private final ClassLoader system = CallerClassesTest.class.getClassLoader();
    private URL classes;

    @BeforeEach
    void aFolderWithTheProgram() throws IOException {
        properties.setProperty("java.class.path", "/app/app.jar:lib/b.jar");
        Path file = folder.resolve(NAME.replace('.', '/') + ".class");
        Files.createDirectories(file.getParent());
        try (InputStream in = ArgvProgram.class.getResourceAsStream("/" + NAME.replace('.', '/') + ".class")) {
            Files.copy(in, file);
        }
        classes = folder.toUri().toURL();
    }

    private List<String> words(Class<?> program) {
        return new CallerClasses(properties, system).words(program, program);
    }

    private static Class<?> loadedBy(ClassLoader loader) throws ClassNotFoundException {
        return loader.loadClass(NAME);
    }

    @Test
    void aProgramOfTheClassPathHasThisClassPathWithAbsoluteNames() {
        assertThat(words(ArgvProgram.class))
                .containsExactly("-cp", "/app/app.jar:" + Path.of("lib/b.jar").toAbsolutePath(), NAME);
    }

    /** As a plugin of Maven's or an IDE's does that runs a program inside its own process. */
    @Test
    void filesOfAnotherClassLoaderArePutOnTheClassPath() throws Exception {
        try (var loader = new URLClassLoader(new URL[] {classes}, null)) {
            assertThat(words(loadedBy(loader)).get(1))
                    .isEqualTo(Path.of(classes.toURI()) + ":/app/app.jar:"
                            + Path.of("lib/b.jar").toAbsolutePath());
        }
    }

    @Test
    void springBootsExecutableJarIsStartedByItsOwnLauncher() throws Exception {
        properties.setProperty("java.class.path", "/app/app.jar");
        try (var loader = new LaunchedClassLoader(classes)) {
            assertThat(words(loadedBy(loader)))
                    .containsExactly(
                            "-cp",
                            "/app/app.jar",
                            "-Dloader.main=" + NAME,
                            "org.springframework.boot.loader.launch.PropertiesLauncher");
        }
    }

    @Test
    void springBootsArchiveWithoutThatLauncherIsRefusedWithTheRemedy() throws Exception {
        properties.setProperty("java.class.path", "/app/app.jar");
        try (var loader = new LaunchedClassLoader(classes)) {
            assertThatThrownBy(() -> new CallerClasses(properties, ClassLoader.getPlatformClassLoader())
                            .words(loadedBy(loader), loadedBy(loader)))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContainingAll("no job was started", "java -Djarmode=tools -jar /app/app.jar extract");
        }
    }

    @Test
    void whatIsNoFileIsRefusedWithItsLoaderAndPlace() throws Exception {
        URL inside = URI.create("jar:" + classes + "x.jar!/").toURL();
        try (var loader = new URLClassLoader(new URL[] {classes, inside}, null)) {
            assertThatThrownBy(() -> words(loadedBy(loader)))
                    .hasMessageContainingAll(
                            NAME, "java.net.URLClassLoader", folder.toString(), "HvdLauncher.java(\"-cp\"");
        }
        var own = new ClassLoader(null) {
            @Override
            protected Class<?> findClass(String name) throws ClassNotFoundException {
                try {
                    byte[] bytes = Files.readAllBytes(folder.resolve(name.replace('.', '/') + ".class"));
                    return defineClass(name, bytes, 0, bytes.length);
                } catch (IOException e) {
                    throw new ClassNotFoundException(name, e);
                }
            }
        };
        assertThatThrownBy(() -> words(loadedBy(own)))
                .hasMessageContainingAll("was loaded by", "not from files that another JVM could be given");
    }

    @Test
    void modulesNativeImagesAndAnEmptyClassPathAreRefused() {
        assertThatThrownBy(() -> words(java.util.jar.JarFile.class)).hasMessageContaining("is in the module java.base");
        properties.setProperty("java.class.path", "");
        assertThatThrownBy(() -> words(ArgvProgram.class)).hasMessageContaining("has no class path");
        properties.setProperty("org.graalvm.nativeimage.imagecode", "runtime");
        assertThatThrownBy(() -> words(ArgvProgram.class)).hasMessageContainingAll("native image", "horovodrun");
    }

    @Test
    void aJavaHomeWithoutJavaIsRefused() {
        properties.setProperty("java.home", folder.toString());
        assertThatThrownBy(() -> new CallerClasses(properties, system).java())
                .hasMessageContainingAll(folder.toString(), "no bin/java");
        assertThat(new CallerClasses(System.getProperties(), system).java()).endsWith("bin/java");
    }

    @Test
    void aClassPathOfTheUsersTakesThePlaceOfTheCallers() {
        assertThat(CallerClasses.areGiven(List.of("-Xmx1g", "-cp", "x.jar"))).isTrue();
        assertThat(CallerClasses.areGiven(List.of("--class-path=x.jar"))).isTrue();
        assertThat(CallerClasses.areGiven(List.of("-Dcp=x", "-cpu"))).isFalse();
    }
}
