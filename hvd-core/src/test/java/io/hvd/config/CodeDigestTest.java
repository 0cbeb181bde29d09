package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CodeDigestTest {
    @TempDir
    Path temporary;

    private static final Map<String, String> CLASSES =
            Map.of("io/hvd/A.class", "aaa", "io/hvd/engine/B.class", "bbb", "io/hvd/engine/B$1.class", "");

    private Path folder(String name, Map<String, String> files) throws IOException {
        Path folder = temporary.resolve(name);
        for (Map.Entry<String, String> file : files.entrySet()) {
            Path path = folder.resolve(file.getKey());
            Files.createDirectories(path.getParent());
            Files.writeString(path, file.getValue());
        }
        return folder;
    }

    private Path jar(String name, List<Map.Entry<String, String>> files) throws IOException {
        Path jar = temporary.resolve(name);
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(jar))) {
            for (Map.Entry<String, String> file : files) {
                out.putNextEntry(new ZipEntry(file.getKey()));
                out.write(file.getValue().getBytes(StandardCharsets.UTF_8));
                out.closeEntry();
            }
        }
        return jar;
    }

    @Test
    void aJarAndAFolderOfTheSameClassesAreTheSameCodeInAnyOrder() throws IOException {
        List<Map.Entry<String, String>> sorted =
                CLASSES.entrySet().stream().sorted(Map.Entry.comparingByKey()).toList();
        List<Map.Entry<String, String>> reversed = CLASSES.entrySet().stream()
                .sorted(Map.Entry.<String, String>comparingByKey().reversed())
                .toList();
        assertThat(CodeDigest.of(folder("classes", CLASSES)))
                .matches("[0-9a-f]{16}")
                .isEqualTo(CodeDigest.of(jar("a.jar", sorted)))
                .isEqualTo(CodeDigest.of(jar("b.jar", reversed)));
    }

    @Test
    void aChangedARenamedAndAMissingClassAreOtherCode() throws IOException {
        assertThat(List.of(
                        CodeDigest.of(folder("first", CLASSES)),
                        CodeDigest.of(
                                folder("changed", Map.of("io/hvd/A.class", "aab", "io/hvd/engine/B.class", "bbb"))),
                        CodeDigest.of(
                                folder("renamed", Map.of("io/hvd/C.class", "aaa", "io/hvd/engine/B.class", "bbb"))),
                        CodeDigest.of(folder("missing", Map.of("io/hvd/A.class", "aaa")))))
                .doesNotHaveDuplicates();
    }

    @Test
    void resourcesAndOtherPeoplesClassesDoNotCount() throws IOException {
        Map<String, String> only = Map.of("io/hvd/A.class", "aaa");
        Map<String, String> more = Map.of(
                "io/hvd/A.class",
                "aaa",
                "io/hvd/notes.txt",
                "x",
                "org/other/A.class",
                "y",
                "META-INF/MANIFEST.MF",
                "z");
        assertThat(CodeDigest.of(folder("only", only))).isEqualTo(CodeDigest.of(folder("more", more)));
    }
}
