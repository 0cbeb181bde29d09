package io.hvd.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.file.WholeFileProgram;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(30)
class LibraryCacheTest {
    @Test
    void whoeverAsksAtTheSameTimeGetsTheSameCompleteFiles(@TempDir Path root) throws Exception {
        Map<String, byte[]> files = Map.of("liba.so", new byte[3_000_001], "libb.so", new byte[] {1, 2, 3});
        ExecutorService threads = Executors.newFixedThreadPool(4);
        try {
            List<Future<Path>> asked = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                asked.add(threads.submit(() -> {
                    Path folder = new LibraryCache(root).folderWith("jcuda-12", files);
                    assertThat(Files.size(folder.resolve("liba.so"))).isEqualTo(3_000_001);
                    return folder;
                }));
            }
            Path first = asked.get(0).get();
            for (Future<Path> other : asked) {
                assertThat(other.get()).isEqualTo(first);
            }
            assertThat(Files.readAllBytes(first.resolve("libb.so"))).containsExactly(1, 2, 3);
            assertThat(namesIn(first)).containsExactlyInAnyOrder("liba.so", "libb.so");
        } finally {
            threads.shutdown();
        }
    }

    @Test
    void anotherVersionOfTheLibrariesGetsAFolderOfItsOwn(@TempDir Path root) {
        LibraryCache cache = new LibraryCache(root);
        Path one = cache.folderWith("jcuda-12", Map.of("liba.so", new byte[] {1}));
        assertThat(cache.folderWith("jcuda-12", Map.of("liba.so", new byte[] {2})))
                .isNotEqualTo(one);
        assertThat(cache.folderWith("jcuda-12", Map.of("liba.so", new byte[] {1})))
                .isEqualTo(one);
    }

    @Test
    void aFileThatIsThereIsNeverWrittenAgain(@TempDir Path root) throws Exception {
        LibraryCache cache = new LibraryCache(root);
        Path library =
                cache.folderWith("jcuda-12", Map.of("liba.so", new byte[] {1})).resolve("liba.so");
        Object before = Files.readAttributes(library, "unix:ino").get("ino");
        cache.folderWith("jcuda-12", Map.of("liba.so", new byte[] {1}));
        assertThat(Files.readAttributes(library, "unix:ino").get("ino")).isEqualTo(before);
    }

    @Test
    void whatAKilledProcessHasLeftIsDeletedByTheNextOne(@TempDir Path root) throws Exception {
        LibraryCache cache = new LibraryCache(root);
        Map<String, byte[]> files = Map.of("liba.so", new byte[] {1});
        Path library = cache.folderWith("jcuda-12", files).resolve("liba.so");
        Files.delete(library);
        WholeFileProgram.beginAndBeKilled(library);

        cache.folderWith("jcuda-12", files);

        assertThat(namesIn(library.getParent())).containsExactly("liba.so");
    }

    @Test
    void withoutAWritableHomeTheFilesBelongToThisProcess(@TempDir Path folder) throws Exception {
        Path noFolder = Files.createFile(folder.resolve("home"));
        Path own = new LibraryCache(noFolder).folderWith("jcuda-12", Map.of("liba.so", new byte[] {7}));
        assertThat(own.startsWith(noFolder)).isFalse();
        assertThat(Files.readAllBytes(own.resolve("liba.so"))).containsExactly(7);
    }

    private static List<String> namesIn(Path folder) throws Exception {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).toList();
        }
    }
}
