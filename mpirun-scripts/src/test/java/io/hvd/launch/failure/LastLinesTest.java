package io.hvd.launch.failure;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class LastLinesTest {

    private static final String DASHES = "-".repeat(74);

    private final LastLines last = new LastLines();

    private void say(String text) {
        text.lines()
                .map(line -> new String(line.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1))
                .forEach(last::add);
    }

    @Test
    void mpirunsOwnWordsAndThoseOfSurvivorsAreLeftOut() {
        say("Traceback (most recent call last):\n  File \"t.py\", line 3\nValueError: größer\n\n");
        say("hvd: consequence on rank 0 of 2 on vm: ended, because the job cannot go on\n");
        say(DASHES + "\nPrimary job  terminated normally, but 1 process returned\na non-zero exit code.\n" + DASHES
                + "\n");
        say(DASHES + "\nmpirun detected that one or more processes exited with non-zero status\n" + DASHES + "\n");
        say(DASHES + "\nprterun detected that one or more processes exited\n" + DASHES + "\n");

        assertThat(last.of(1).lines())
                .containsExactly("Traceback (most recent call last):", "  File \"t.py\", line 3", "ValueError: größer");
        assertThat(last.of(1).areOfOne()).isFalse();
    }

    @Test
    void aRanksOwnLinesOfDashesAreNoMessageOfMpiruns() {
        say(DASHES + "\nmy table\n" + DASHES + "\nthe end\n" + DASHES + "\nmpirun noticed that process rank 0\n"
                + DASHES);
        assertThat(last.of(0).lines()).contains(DASHES, "my table").noneMatch(line -> line.contains("noticed"));
    }

    @Test
    void taggedLinesAreThoseOfTheirRankUnderEveryOpenMpi() {
        for (String tag : new String[] {"[1,%d]<stderr>:", "[prterun-vm-4711@1,%d]<stderr>: ", "[1,%d]<stderr>: "}) {
            LastLines tagged = new LastLines();
            tagged.add(String.format(Locale.ROOT, tag, 0) + "fine");
            tagged.add(String.format(Locale.ROOT, tag, 12) + "bad flag");
            tagged.add(String.format(Locale.ROOT, tag, 1) + "fine too");
            assertThat(tagged.of(12)).isEqualTo(new LastLines.Said(java.util.List.of("bad flag"), true));
            assertThat(tagged.of(7).lines()).containsExactly("fine", "bad flag", "fine too");
        }
    }

    @Test
    void onlyTheLastLinesStayAndLongOnesAreCut() {
        say("x".repeat(5000));
        assertThat(last.of(0).lines()).singleElement().asString().hasSize(304).endsWith("x ...");
        IntStream.range(0, 10_000).forEach(i -> say("line " + i));
        assertThat(last.of(0).lines()).hasSize(8).first().isEqualTo("line 9992");
    }
}
