package io.hvd.launch.direct;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
final class RankStreamTest {

    private final ByteArrayOutputStream shown = new ByteArrayOutputStream();
    private final List<String> lines = new ArrayList<>();

    @Test
    void everyLineHasItsPrefixOnceAndNoByteIsLost() {
        byte[] said = "one\nzwölf\r50 %\r100 %\n\nno end".getBytes(StandardCharsets.UTF_8);

        new RankStream(new ByteArrayInputStream(said), shown, () -> "[3] ", lines::add).run();

        assertThat(shown.toString(StandardCharsets.UTF_8))
                .isEqualTo("[3] one\n[3] zwölf\r50 %\r100 %\n[3] \n[3] no end");
        assertThat(lines).hasSize(6).contains("one\n", "no end");
    }

    @Test
    void aQuestionWithoutAnEndOfLineIsShownThoughNothingFollows() throws Exception {
        try (var rank = new PipedOutputStream();
                var pipe = new PipedInputStream(rank)) {
            var copier = new Thread(new RankStream(pipe, shown, () -> "", lines::add));
            copier.start();

            rank.write("name? ".getBytes(StandardCharsets.UTF_8));
            rank.flush();
            while (shown.size() == 0) {
                Thread.onSpinWait();
            }
            rank.close();
            copier.join();
        }
        assertThat(shown.toString(StandardCharsets.UTF_8)).isEqualTo("name? ");
    }
}
