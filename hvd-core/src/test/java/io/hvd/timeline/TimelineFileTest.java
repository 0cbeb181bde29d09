package io.hvd.timeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.testing.Job;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class TimelineFileTest {
    @TempDir
    private Path folder;

    private static String event(int number, int padding) {
        return TraceJson.object().put("name", "event " + number).toString() + " ".repeat(padding);
    }

    private static List<String> names(Path file) {
        return TraceFile.read(file).names();
    }

    @Test
    void theFileIsWholeAfterEveryAppendAndKeepsTheOrder() throws IOException {
        Path path = folder.resolve("t.json");
        TimelineFile file = TimelineFile.create(path, event(0, 0));
        assertThat(names(path)).containsExactly("event 0");
        for (int i = 1; i < 400; i++) {
            file.append(List.of(event(i, (i * 37) % 900)));
            assertThat(TraceFile.read(path).events()).hasSize(i + 1);
        }
        long withBlanks = Files.size(path);
        file.close();

        assertThat(Files.size(path)).isLessThan(withBlanks);
        assertThat(names(path))
                .containsExactlyElementsOf(
                        IntStream.range(0, 400).mapToObj(i -> "event " + i).toList());
        assertThat(folder).isDirectoryNotContaining("glob:**.part");
    }

    @Test
    void noEventLiesAcrossTheEdgeOfABlockAndNoWriteMovesTheBracket() throws IOException {
        Path path = folder.resolve("t.json");
        TimelineFile file = TimelineFile.create(path, event(0, 0));
        long size = Files.size(path);
        List<String> events =
                IntStream.range(1, 60).mapToObj(i -> event(i, 700)).toList();
        file.append(events);

        assertThat(Files.size(path)).isEqualTo(size);
        byte[] bytes = Files.readAllBytes(path);
        for (int edge = TimelineFile.BLOCK; edge < bytes.length; edge += TimelineFile.BLOCK) {
            char first = (char) bytes[edge];
            assertThat(first).isIn(',', ' ');
        }
        file.close();
    }

    @Test
    void anEventAsLongAsABlockStillFits() throws IOException {
        Path path = folder.resolve("t.json");
        try (TimelineFile file = TimelineFile.create(path, event(0, 0))) {
            String longest = event(1, TimelineFile.BLOCK - 2 - event(1, 0).length());
            file.append(List.of(longest, event(2, 0)));
            assertThatThrownBy(() -> file.append(List.of(longest + " "))).isInstanceOf(IllegalArgumentException.class);
        }
        assertThat(names(path)).containsExactly("event 0", "event 1", "event 2");
    }

    /** But for one that the very moment of a write tears, which the next one does not. */
    @Test
    void aCopyMadeWhileTheFileIsWrittenIsWholeToo() throws Exception {
        Path path = folder.resolve("t.json");
        TimelineFile file = TimelineFile.create(path, event(0, 0));
        Thread writer = new Thread(() -> {
            try {
                for (int i = 1; i < 20_000; i++) {
                    file.append(List.of(event(i, i % 200)));
                }
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        writer.start();
        do {
            assertThat(copyInThreeAttempts(path).events()).isNotEmpty();
        } while (writer.isAlive());
        file.close();
        assertThat(TraceFile.read(path).events()).hasSize(20_000);
    }

    private static TraceFile copyInThreeAttempts(Path path) throws IOException {
        for (int attempt = 1; true; attempt++) {
            try {
                return TraceFile.read(path);
            } catch (UncheckedIOException torn) {
                if (attempt == 3) {
                    throw torn;
                }
            }
        }
    }

    @Test
    void theFileIsWholeAfterTheWriterWasKilled() throws Exception {
        for (int round = 0; round < 5; round++) {
            Path path = folder.resolve("killed-" + round + ".json");
            Process writer = new ProcessBuilder(Job.program(Endless.class, path.toString()))
                    .redirectOutput(ProcessBuilder.Redirect.PIPE)
                    .start();
            try {
                assertThat(writer.getInputStream().read()).isEqualTo('r');
            } finally {
                writer.destroyForcibly();
            }
            assertThat(writer.waitFor(30, TimeUnit.SECONDS)).isTrue();

            assertThat(TraceFile.read(path).events()).hasSizeGreaterThan(Endless.AT_LEAST);
        }
    }

    /** Writes until it is killed. */
    static final class Endless {
        private static final int AT_LEAST = 5_000;

        private Endless() {}

        public static void main(String[] args) throws IOException {
            TimelineFile file = TimelineFile.create(Path.of(args[0]), event(0, 0));
            for (int i = 1; true; i++) {
                file.append(List.of(event(i, i % 300)));
                if (i == AT_LEAST) {
                    System.out.write('r');
                    System.out.flush();
                }
            }
        }
    }

    @Test
    void anOlderFileIsReplacedAndAlsoWhereALinkLeads() throws IOException {
        Path real = folder.resolve("real.json");
        Files.writeString(real, "something else");
        Path link = Files.createSymbolicLink(folder.resolve("link.json"), real);

        TimelineFile.create(link, event(7, 0)).close();

        assertThat(link).isSymbolicLink();
        assertThat(names(real)).containsExactly("event 7");
    }

    @Test
    void aLinkInTheWayOfThePartLeadsNowhere() throws IOException {
        Path victim = Files.writeString(folder.resolve("victim"), "untouched");
        Path file = folder.resolve("t.json");
        Files.createSymbolicLink(folder.resolve("t.json.part"), victim);

        TimelineFile.create(file, "{}").close();

        assertThat(victim).hasContent("untouched");
        assertThat(file).isRegularFile().content().startsWith("[");
    }

    @Test
    void whatIsNoFileIsRefusedAndStaysWhatItIs() {
        assertThatThrownBy(() -> TimelineFile.create(Path.of("/dev/null"), event(0, 0)))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("/dev/null");
        assertThat(Path.of("/dev/null")).exists().isNotEqualTo(folder);
        assertThat(Files.isRegularFile(Path.of("/dev/null"))).isFalse();
        assertThatThrownBy(() -> TimelineFile.create(folder.resolve("no/such/t.json"), event(0, 0)))
                .isInstanceOf(IOException.class);
    }
}
