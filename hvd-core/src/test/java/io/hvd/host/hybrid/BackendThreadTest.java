package io.hvd.host.hybrid;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ShutdownException;
import io.hvd.spi.Collectives.Completion;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Calls that the thread which owns a back end makes for others. */
@Timeout(20)
class BackendThreadTest {
    private final BackendThread backendThread = BackendThread.start(task -> {
        Thread owner = new Thread(task, "owner");
        owner.setDaemon(true);
        owner.start();
    });

    @AfterEach
    void end() {
        backendThread.end();
    }

    private static void await(Completion completion) {
        while (!completion.isDone()) {
            Thread.onSpinWait();
        }
    }

    @Test
    void aCallThatWasBegunIsMadeBesideItsCallerAndAfterThoseBeforeIt() {
        CountDownLatch mayEnd = new CountDownLatch(1);
        AtomicBoolean firstEnded = new AtomicBoolean();
        AtomicBoolean inOrder = new AtomicBoolean();
        Completion first = backendThread.begin(() -> {
            try {
                mayEnd.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            firstEnded.set(true);
        });
        Completion second = backendThread.begin(() -> inOrder.set(firstEnded.get()));
        assertThat(first.isDone()).isFalse();
        assertThat(second.isDone()).isFalse();

        mayEnd.countDown();
        await(second);
        assertThat(first.isDone()).isTrue();
        assertThat(inOrder).isTrue();
    }

    @Test
    void aCallThatFailsIsNeverTakenForDone() {
        for (int i = 0; i < 2_000; i++) {
            Completion failing = backendThread.begin(() -> {
                throw new IllegalStateException("no network");
            });
            assertThatThrownBy(() -> await(failing)).hasMessage("no network");
        }
    }

    @Test
    void whoeverWaitsIsReleasedWhenTheThreadIsGivenUp() {
        CountDownLatch never = new CountDownLatch(1);
        Completion stuck = backendThread.begin(() -> {
            try {
                never.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        backendThread.giveUp("rank 3 is gone");

        assertThatThrownBy(() -> await(stuck))
                .isInstanceOf(ShutdownException.class)
                .hasMessageEndingWith("rank 3 is gone");
        Completion later = backendThread.begin(() -> {});
        assertThatThrownBy(() -> await(later)).hasMessageEndingWith("rank 3 is gone");
        never.countDown();
    }
}
