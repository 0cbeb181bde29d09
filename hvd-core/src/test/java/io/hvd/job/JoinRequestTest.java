package io.hvd.job;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.backend.ProcessProvider;
import io.hvd.error.ShutdownException;
import io.hvd.job.failure.ThrowToProgram;
import io.hvd.transport.tcp.TcpRanks;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class JoinRequestTest {
    /** Rank 0 has met nobody, and rank 1 finds no rank 0: both would wait for half a minute. */
    @ParameterizedTest
    @CsvSource({"0, awaitAll", "1, parkNanos"})
    void anInterruptEndsTheWaitForTheOtherRanks(int rank, String waits) throws Exception {
        JoinRequest request = new JoinRequest(
                new ProcessProvider(TcpRanks.providers(2).get(rank)),
                JobSettings.only(TcpRanks.settings(rank, 2, UUID.randomUUID().toString())),
                backend -> null,
                ThrowToProgram.ofProcess());
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        Thread caller = new Thread(() -> {
            try {
                request.join(List.of(), List.of(), StartupHooks.over());
            } catch (Throwable e) {
                thrown.complete(e);
            }
            interrupted.complete(Thread.currentThread().isInterrupted());
        });
        caller.start();
        while (!isIn(waits, "hvd-engine-" + rank)) {
            Thread.onSpinWait();
        }
        caller.interrupt();

        assertThat(thrown.get(20, TimeUnit.SECONDS))
                .isInstanceOf(ShutdownException.class)
                .hasMessageContaining("rank " + rank + " (")
                .hasMessageContaining("was interrupted while it waited for the file");
        assertThat(interrupted.get(20, TimeUnit.SECONDS)).isTrue();
    }

    private static boolean isIn(String method, String thread) {
        return Thread.getAllStackTraces().entrySet().stream()
                .filter(one -> one.getKey().getName().equals(thread))
                .flatMap(one -> Stream.of(one.getValue()))
                .anyMatch(frame -> frame.getMethodName().equals(method));
    }
}
