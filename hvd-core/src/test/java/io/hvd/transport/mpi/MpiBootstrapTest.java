package io.hvd.transport.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.transport.mpi.calls.Mpi;
import io.hvd.transport.mpi.calls.MpiCommunicator;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class MpiBootstrapTest {
    private static final int RANKS = 3;
    /** More than a socket may have room for. */
    private static final int MUCH = 30_000;

    /** The allgathers of ranks that are threads, by an MPI that moves some messages on only when their sender calls it. */
    private final class WeakMpi {
        private final List<byte[][]> calls = new ArrayList<>();
        private final int[] begun = new int[RANKS];

        MpiCommunicator of(int rank) {
            return (MpiCommunicator) Proxy.newProxyInstance(
                    MpiCommunicator.class.getClassLoader(),
                    new Class<?>[] {MpiCommunicator.class},
                    (proxy, method, given) -> switch (method.getName()) {
                        case "rank" -> rank;
                        case "size" -> RANKS;
                        case "allgather" ->
                            given.length == 2
                                    ? allgather(rank, (ByteBuffer) given[0], (int) given[1])
                                    : allgather(rank, given);
                        default -> throw new IllegalStateException(method.getName());
                    });
        }

        private Void allgather(int rank, ByteBuffer data, int bytesOfEach) throws InterruptedException {
            int[] starts = IntStream.range(0, RANKS).map(of -> of * bytesOfEach).toArray();
            gather(rank, bytes(data, starts[rank], bytesOfEach), data, starts);
            return null;
        }

        private Void allgather(int rank, Object... given) throws InterruptedException {
            gather(rank, bytes((ByteBuffer) given[0], 0, (int) given[1]), (ByteBuffer) given[2], (int[]) given[4]);
            return null;
        }

        private byte[] bytes(ByteBuffer buffer, int first, int count) {
            byte[] bytes = new byte[count];
            buffer.get(first, bytes);
            return bytes;
        }

        private synchronized void gather(int rank, byte[] mine, ByteBuffer all, int[] starts)
                throws InterruptedException {
            int call = begun[rank]++;
            if (calls.size() == call) {
                calls.add(new byte[RANKS][]);
            }
            calls.get(call)[rank] = mine;
            notifyAll();
            for (int from = 0; from < RANKS; from++) {
                while (!hasCome(call, from, rank)) {
                    wait();
                }
                all.put(starts[from], calls.get(call)[from]);
            }
        }

        /** The last of much that rank 0 sends to rank 1 leaves only when rank 0 calls MPI again. */
        private boolean hasCome(int call, int from, int to) {
            byte[] bytes = calls.get(call)[from];
            return bytes != null && (bytes.length < MUCH || from != 0 || to != 1 || begun[from] > call + 1);
        }
    }

    @Test
    void whatOneRankExchangesArrivesWithoutFurtherCallsOfAnother() throws Exception {
        WeakMpi mpi = new WeakMpi();
        ExecutorService threads = Executors.newFixedThreadPool(RANKS);
        try {
            List<CompletableFuture<List<byte[]>>> all = IntStream.range(0, RANKS)
                    .mapToObj(rank -> CompletableFuture.supplyAsync(() -> exchanged(mpi.of(rank), rank), threads))
                    .toList();
            for (CompletableFuture<List<byte[]>> one : all) {
                assertThat(one.get(10, TimeUnit.SECONDS))
                        .hasSize(RANKS)
                        .allSatisfy(bytes -> assertThat(bytes).hasSize(MUCH));
                assertThat(one.get().get(2)[0]).isEqualTo((byte) 2);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private static List<byte[]> exchanged(MpiCommunicator comm, int rank) {
        MpiProgress progress = new MpiProgress(() -> {}, System::nanoTime);
        Mpi mpi = (Mpi) Proxy.newProxyInstance(
                Mpi.class.getClassLoader(), new Class<?>[] {Mpi.class}, (proxy, method, given) -> "host");
        byte[] mine = new byte[MUCH];
        Arrays.fill(mine, (byte) rank);
        return new MpiBootstrap(mpi, comm, progress, 0).exchange(mine);
    }
}
