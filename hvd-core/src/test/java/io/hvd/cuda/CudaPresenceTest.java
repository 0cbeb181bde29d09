package io.hvd.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIf;
import org.junit.jupiter.api.io.TempDir;

/** Machines without CUDA, without JCuda's natives and without JCuda; a machine with a GPU skips what it cannot show. */
class CudaPresenceTest {
    static boolean driverIsLoaded() {
        return Files.exists(Path.of("/dev/nvidiactl"));
    }

    @Test
    @DisabledIf("driverIsLoaded")
    void theDriverShowsNoGpuWithoutCudaTheFirstTimeAndTheSecond() {
        assertThat(new CudaGpuDriver().visible()).isEmpty();
        assertThat(new CudaGpuDriver().visible()).isEmpty();
        assertThat(CudaPresence.ofThisProcess().missing()).contains("no NVIDIA driver", "/dev/nvidiactl");
    }

    @Test
    void withoutADriverJCudaIsNotTouched(@TempDir Path folder) throws Exception {
        try (URLClassLoader loader = new URLClassLoader(classPathWithout("jcuda"), parent())) {
            assertThat(lookAgain(loader, folder.resolve("none"))).contains("no NVIDIA driver");
        }
    }

    @Test
    @DisabledIf("driverIsLoaded")
    void withJCudaButWithoutTheDriversLibraryThereAreNoGpusTheFirstTimeAndTheSecond(@TempDir Path folder)
            throws Exception {
        Path driver = Files.createFile(folder.resolve("driver"));
        for (int time = 0; time < 2; time++) {
            CudaPresence found = CudaPresence.look(List.of(driver), null);
            assertThat(found.gpus()).isEmpty();
            assertThat(found.missing()).contains("JCuda is not usable");
        }
    }

    @Test
    @DisabledIf("driverIsLoaded")
    void aDriversLibraryOnTheLibraryPathIsLookedAtWhereThereIsNoDeviceFile(@TempDir Path folder) throws Exception {
        List<Path> none = List.of(folder.resolve("none"));
        Files.createFile(folder.resolve("libcuda.so.1"));
        assertThat(CudaPresence.look(none, "/nowhere::" + folder).missing()).contains("JCuda is not usable");
        assertThat(CudaPresence.look(none, "/nowhere:").missing()).contains("no NVIDIA driver", "LD_LIBRARY_PATH");
    }

    @Test
    void withADriverButWithoutJCudaThereAreNoGpusTheFirstTimeAndTheSecond(@TempDir Path folder) throws Exception {
        Path driver = Files.createFile(folder.resolve("driver"));
        try (URLClassLoader loader = new URLClassLoader(classPathWithout("jcuda"), parent())) {
            assertThat(lookAgain(loader, driver)).contains("gpus=[]", "JCuda is not usable");
            assertThat(lookAgain(loader, driver)).contains("gpus=[]", "JCuda is not usable");
        }
    }

    @Test
    @DisabledIf("driverIsLoaded")
    void withADriverButWithoutJCudasNativesThereAreNoGpusTheFirstTimeAndTheSecond(@TempDir Path folder)
            throws Exception {
        Path driver = Files.createFile(folder.resolve("driver"));
        String temporary = System.getProperty("java.io.tmpdir");
        for (int time = 0; time < 2; time++) {
            try (URLClassLoader loader = new URLClassLoader(classPathWithout("jcuda-natives"), parent())) {
                assertThat(lookAgain(loader, driver)).contains("gpus=[]", "JCuda is not usable");
                assertThat(lookAgain(loader, driver)).contains("gpus=[]", "JCuda is not usable");
            }
        }
        assertThat(System.getProperty("java.io.tmpdir")).isEqualTo(temporary);
    }

    /** The answer of a copy of the class that a loader of its own has loaded. */
    private static String lookAgain(ClassLoader loader, Path driver) throws Exception {
        Method look =
                loader.loadClass(CudaPresence.class.getName()).getDeclaredMethod("look", List.class, String.class);
        look.setAccessible(true);
        return look.invoke(null, List.of(driver), null).toString();
    }

    private static ClassLoader parent() {
        return ClassLoader.getPlatformClassLoader();
    }

    private static URL[] classPathWithout(String word) {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> !entry.contains(word))
                .flatMap(entry -> url(Path.of(entry)))
                .toArray(URL[]::new);
    }

    private static Stream<URL> url(Path entry) {
        try {
            return Stream.of(entry.toUri().toURL());
        } catch (java.net.MalformedURLException e) {
            throw new IllegalArgumentException(entry.toString(), e);
        }
    }
}
