package io.hvd.job.failure;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class OutputLinesTest {
    /** Each write as the launcher would see it. */
    private final BlockingQueue<String> writes = new LinkedBlockingQueue<>();

    private final ByteArrayOutputStream all = new ByteArrayOutputStream();

    private PrintStream system() {
        return new PrintStream(all, true, StandardCharsets.UTF_8) {
            @Override
            public void write(byte[] bytes, int offset, int length) {
                writes.add(new String(bytes, offset, length, StandardCharsets.UTF_8));
                all.write(bytes, offset, length);
            }
        };
    }

    private List<String> seen() {
        return new ArrayList<>(writes);
    }

    @Test
    void aLineThatPrintfWritesInPiecesGoesOutInOneWrite() {
        PrintStream rank = OutputLines.over(system(), false, 3);

        rank.printf(Locale.ROOT, "rank %d of %d loss %.3f%n", 3, 4, 0.5);
        rank.print("a\nb\nc");
        rank.println("d");

        assertThat(seen()).containsExactly("rank 3 of 4 loss 0.500\n", "a\nb\n", "cd\n");
    }

    /** The first use of a format loads classes, which takes long on a busy machine; the argument here takes longer. */
    @Test
    void aLineWhoseArgumentTakesItsTimeStaysWhole() {
        PrintStream rank = OutputLines.over(system(), false, 3);
        Object slow = new Object() {
            @Override
            public String toString() {
                PrintStream other = OutputLines.over(system(), false, 4);
                other.println("meanwhile");
                return "slow";
            }
        };

        rank.printf(Locale.ROOT, "a %s argument%n", slow);
        rank.printf(Locale.ROOT, "and %s again%n", slow);

        assertThat(seen()).containsExactly("meanwhile\n", "a slow argument\n", "meanwhile\n", "and slow again\n");
    }

    @Test
    void aLineWithoutAnEndGoesOutAtAFlush() {
        PrintStream rank = OutputLines.over(system(), false, 0);

        rank.print("\r 10 %");
        rank.flush();

        assertThat(seen()).containsExactly("\r 10 %");
    }

    /** Nobody flushes a question or a row of dots. */
    @Test
    void aLineWithoutAnEndGoesOutByItselfAfterAWhile() throws Exception {
        PrintStream rank = OutputLines.over(system(), false, 0);

        rank.print("working ");
        assertThat(writes.poll(30, TimeUnit.SECONDS)).isEqualTo("working ");

        rank.print("still");
        assertThat(writes.poll(30, TimeUnit.SECONDS)).isEqualTo("still");
    }

    @Test
    void bytesThatAreNoTextPassUnchanged() {
        byte[] bytes = new byte[300_001];
        new Random(7).nextBytes(bytes);
        PrintStream rank = OutputLines.over(system(), false, 0);

        rank.write(bytes, 0, 100_000);
        for (int i = 100_000; i < 100_100; i++) {
            rank.write(bytes[i]);
        }
        rank.write(bytes, 100_100, bytes.length - 100_100);
        rank.flush();

        assertThat(all.toByteArray()).isEqualTo(bytes);
    }

    @Test
    void lettersBeyondAsciiKeepTheEncodingOfTheStream() {
        PrintStream rank = OutputLines.over(system(), false, 0);

        rank.println("Größe 三");

        assertThat(all.toString(StandardCharsets.UTF_8)).isEqualTo("Größe 三\n");
    }

    @Test
    void eachLineBeginsWithTheRankIfThatIsAskedForAndItsPiecesDoNot() {
        PrintStream rank = OutputLines.over(system(), true, 3);

        rank.printf(Locale.ROOT, "loss %.1f%n", 0.5);
        rank.print("a\n\nb");
        rank.flush();
        rank.println("c");

        assertThat(String.join("", seen())).isEqualTo("[3] loss 0.5\n[3] a\n[3] \n[3] bc\n");
    }

    @Test
    void ranksThatAreThreadsHaveALineEachThoughTheirPiecesTakeTurns() throws Exception {
        PrintStream stream = OutputLines.over(system(), true, -1);
        CyclicBarrier turn = new CyclicBarrier(2);
        List<Thread> ranks = new ArrayList<>();
        for (int rank = 0; rank < 2; rank++) {
            int number = rank;
            ranks.add(new Thread(() -> printInTurns(stream, turn, number)));
        }
        ranks.forEach(Thread::start);
        for (Thread rank : ranks) {
            rank.join();
        }

        assertThat(String.join("", seen()).lines()).containsExactlyInAnyOrder("[0] one 0 two 0", "[1] one 1 two 1");
    }

    private static void printInTurns(PrintStream stream, CyclicBarrier turn, int rank) {
        try {
            OutputLines.bind(stream, rank);
            turn.await();
            stream.print("one " + rank);
            turn.await();
            stream.println(" two " + rank);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void aThreadThatBelongsToNoRankWritesThrough() {
        PrintStream stream = OutputLines.over(system(), true, -1);

        stream.print("a service's own ");

        assertThat(String.join("", seen())).isEqualTo("a service's own ");
    }

    @Test
    void aFlushOfAnotherThreadHandsOnTheLinesOfAllRanks() throws Exception {
        PrintStream stream = OutputLines.over(system(), false, -1);
        Thread rank = new Thread(() -> {
            OutputLines.bind(stream, 5);
            stream.print("last words");
        });
        rank.start();
        rank.join();

        stream.flush();

        assertThat(String.join("", seen())).isEqualTo("last words");
    }
}
