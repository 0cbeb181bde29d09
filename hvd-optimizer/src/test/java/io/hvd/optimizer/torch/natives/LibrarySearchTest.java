package io.hvd.optimizer.torch.natives;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.optimizer.torch.TorchRuntime;
import java.io.IOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.bytedeco.javacpp.ClassProperties;
import org.bytedeco.javacpp.Loader;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LibrarySearchTest {
    private static final Class<?> PRESETS = org.bytedeco.pytorch.presets.torch.class;

    private static ClassProperties wanted;

    @BeforeAll
    static void readWhatLibTorchAsksFor() {
        TorchRuntime.prepare();
        wanted = Loader.loadProperties(PRESETS, Loader.loadProperties(), true);
    }

    /** JavaCPP's own search of the class path is the reference. */
    @Test
    void whatIsAnsweredBeforehandIsWhatJavaCppFinds() {
        Map<String, URL[]> table = new HashMap<>();

        new LibrarySearch(wanted, Set.of("libgomp.so.1", "libopenblas.so.0", "libc10.so")).fill(table);

        assertThat(table).containsKeys("cudart@.13", "nccl@.2", "torch_cuda").doesNotContainKeys("gomp@.1", "c10");
        table.keySet().removeAll(List.of("torch", "torch_cpu", "gcc_s@.1", "quadmath@.0", "gfortran@.5"));
        table.forEach((name, urls) -> assertThat(urls).as(name).isEqualTo(Loader.findLibrary(PRESETS, wanted, name)));
    }

    @Test
    void whatAJarHasIsLeftToJavaCpp() {
        Map<String, URL[]> table = new HashMap<>();

        new LibrarySearch(wanted, Set.of("libcudart.so.13", "libnccl.so.2")).fill(table);

        assertThat(table).containsKeys("cudnn@.9").doesNotContainKeys("cudart@.13", "nccl@.2");
    }

    @Test
    void whatIsInAFolderOfJavaCppsIsFoundAsByItsOwnSearch(@TempDir Path folder) throws IOException {
        Files.createFile(folder.resolve("libcufft.so"));
        Files.createFile(folder.resolve("libcudnn.so.9"));
        ClassProperties withFolder = Loader.loadProperties(PRESETS, Loader.loadProperties(), true);
        withFolder.get("platform.preloadpath").add(folder.toString());
        Map<String, URL[]> table = new HashMap<>();

        new LibrarySearch(withFolder, Set.of()).fill(table);

        for (String name : List.of("cufft@.12", "cudnn@.9")) {
            assertThat(table.get(name)).as(name).isNotEmpty().isEqualTo(Loader.findLibrary(PRESETS, withFolder, name));
        }
    }

    @Test
    void anAnswerThatIsThereStays() {
        URL[] known = {};
        Map<String, URL[]> table = new HashMap<>(Map.of("cudnn@.9", known));

        new LibrarySearch(wanted, Set.of()).fill(table);

        assertThat(table.get("cudnn@.9")).isSameAs(known);
    }

    /** Answers from what another process has noted down are the same as from a search of this one. */
    @Test
    void whatAnotherProcessHasFoundGivesTheSameAnswers() {
        LibrarySearch search = LibrarySearch.inJars().orElseThrow();
        Map<String, URL[]> here = new HashMap<>();
        Map<String, URL[]> there = new HashMap<>();

        search.fill(here);
        LibrarySearch.of(search.lines()).orElseThrow().fill(there);

        assertThat(here).containsKeys("cudart@.13", "cudnn@.9");
        assertThat(there).containsOnlyKeys(here.keySet());
        here.forEach((name, urls) -> assertThat(there.get(name)).as(name).isEqualTo(urls));
    }

    @Test
    void aLibraryThatComesIntoAFolderOfJavaCppsIsFound(@TempDir Path folder) throws IOException {
        List<String> lines = LibrarySearch.inJars().orElseThrow().lines().stream()
                .map(line -> line.startsWith("platform.preloadpath") ? "platform.preloadpath\t" + folder : line)
                .toList();
        Map<String, URL[]> before = new HashMap<>();
        Map<String, URL[]> after = new HashMap<>();

        LibrarySearch.of(lines).orElseThrow().fill(before);
        Path library = Files.createFile(folder.resolve("libcudnn.so.9"));
        LibrarySearch.of(lines).orElseThrow().fill(after);

        assertThat(before.get("cudnn@.9")).isEmpty();
        assertThat(after.get("cudnn@.9")).containsExactly(library.toUri().toURL());
        assertThat(after.get("cudnn_ops@.9")).isEmpty();
    }

    /** A later JavaCPP without that table would make starts slow again, and nothing else would show it. */
    @Test
    void javaCppKeepsTheAnswersOfThisProcess() throws ReflectiveOperationException {
        var field = Loader.class.getDeclaredField("foundLibraries");
        field.setAccessible(true);

        assertThat(((Map<?, ?>) field.get(null)).containsKey("cusparse@.12")).isTrue();
    }
}
