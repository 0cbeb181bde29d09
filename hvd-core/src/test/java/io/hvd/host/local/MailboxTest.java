package io.hvd.host.local;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.spi.ControlChannel;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class MailboxTest {
    private final Mailbox mailbox = new Mailbox();

    /** Writes down what comes. */
    private static final class Diary implements ControlChannel.Inbox {
        private final List<String> entries = new ArrayList<>();

        @Override
        public void message(int fromRank, ByteBuffer message) {
            entries.add(fromRank + " sends " + message.getInt(message.position()));
        }

        @Override
        public void lost(int rank, String why) {
            entries.add(rank + " lost: " + why);
        }
    }

    private static ByteBuffer number(int value) {
        return ByteBuffer.allocate(4).putInt(0, value);
    }

    private List<String> receive(long nanos) {
        Diary diary = new Diary();
        mailbox.receive(nanos, diary);
        return diary.entries;
    }

    @Test
    void messagesAndLossesComeInTheirOrderAndOnce() {
        mailbox.put(2, number(20));
        mailbox.put(0, number(1));
        mailbox.lost(2, "gone");
        mailbox.put(0, number(2));
        assertThat(receive(Long.MAX_VALUE)).containsExactly("2 sends 20", "0 sends 1", "2 lost: gone", "0 sends 2");
        assertThat(receive(0)).isEmpty();
    }

    @Test
    void waitsNoLongerThanAsked() {
        long limit = TimeUnit.MILLISECONDS.toNanos(20);
        long start = System.nanoTime();
        assertThat(receive(limit)).isEmpty();
        assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(limit);
    }

    @Test
    void aWakeUpBeforehandEndsTheNextWaitOnly() {
        mailbox.wakeUp();
        mailbox.wakeUp();
        assertThat(receive(Long.MAX_VALUE)).isEmpty();
        long start = System.nanoTime();
        receive(TimeUnit.MILLISECONDS.toNanos(20));
        assertThat(System.nanoTime() - start).isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(20));
    }

    @Test
    void aMessageOrAWakeUpEndsAWaitWithoutLimit() throws Exception {
        for (int round = 0; round < 200; round++) {
            CompletableFuture<List<String>> received =
                    CompletableFuture.supplyAsync(() -> receive(Long.MAX_VALUE), task -> new Thread(task).start());
            if (round % 2 == 0) {
                mailbox.put(1, number(round));
                assertThat(received.get(20, TimeUnit.SECONDS)).containsExactly("1 sends " + round);
            } else {
                mailbox.wakeUp();
                assertThat(received.get(20, TimeUnit.SECONDS)).isEmpty();
            }
        }
    }

    @Test
    void theInboxMayUseTheMailboxItself() throws Exception {
        mailbox.put(0, number(7));
        mailbox.receive(0, new ControlChannel.Inbox() {
            @Override
            public void message(int fromRank, ByteBuffer message) {
                CompletableFuture.runAsync(() -> mailbox.put(3, message)).join();
            }

            @Override
            public void lost(int rank, String why) {}
        });
        assertThat(receive(0)).containsExactly("3 sends 7");
    }

    @Test
    void anInterruptLosesNoMessage() {
        mailbox.put(1, number(5));
        Thread.currentThread().interrupt();
        List<String> all = new ArrayList<>(receive(Long.MAX_VALUE));
        Thread.interrupted();
        all.addAll(receive(0));
        assertThat(all).containsExactly("1 sends 5");
    }
}
