package io.hvd.buffer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.buffer.BufferLedger.Kind;
import io.hvd.buffer.BufferLedger.Lease;
import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.buffer.BufferLedger.Use;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.testing.Modules;
import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BufferLedgerTest {
    private int collections;
    private final BufferLedger ledger = new BufferLedger(() -> {
        collections++;
        System.gc();
    });

    @Test
    void bytesAreCountedByOwnerAndKindWithTheMostAtATime() {
        ByteBuffer first = ledger.direct(Owner.MPI, 1000);
        ByteBuffer second = ledger.direct(Owner.MPI, 24);
        Lease pinned = ledger.lease(Owner.DATA, Kind.PINNED, 500);
        Lease more = ledger.lease(Owner.DATA, Kind.PINNED, 70);
        pinned.giveBack();
        pinned.giveBack();

        assertThat(ledger.uses())
                .containsExactly(
                        new Use(Owner.MPI, Kind.DIRECT, 2, 1024, 1024), new Use(Owner.DATA, Kind.PINNED, 1, 70, 570));
        assertThat(first.order()).isEqualTo(ByteOrder.nativeOrder());
        Reference.reachabilityFence(List.of(first, second, more));
    }

    @Test
    void aBufferCountsAsLongAsASliceOfItIsHeld() {
        ByteBuffer slice = ledger.direct(Owner.TENSORS, 4096).slice(8, 16);
        System.gc();
        assertThat(ledger.uses()).containsExactly(new Use(Owner.TENSORS, Kind.DIRECT, 1, 4096, 4096));
        Reference.reachabilityFence(slice);

        slice = null;
        ledger.configure(4096, false);
        ByteBuffer next = ledger.direct(Owner.CHECKS, 4096);

        assertThat(collections).as("the collector frees what nobody holds").isPositive();
        assertThat(ledger.uses())
                .containsExactly(
                        new Use(Owner.TENSORS, Kind.DIRECT, 0, 0, 4096),
                        new Use(Owner.CHECKS, Kind.DIRECT, 1, 4096, 4096));
        Reference.reachabilityFence(next);
    }

    @Test
    void theLimitNamesTheRankWhatItAskedForAndWhoHoldsWhat() {
        ledger.configure(1000, false);
        ledger.joined("rank 2 of 4");
        ByteBuffer held = ledger.direct(Owner.CHECKPOINTS, 600);
        Lease pinned = ledger.lease(Owner.GPU_BATCHES, Kind.PINNED, 300);

        assertThatThrownBy(() -> ledger.direct(Owner.MPI, 200))
                .isInstanceOfSatisfying(
                        HvdException.class, e -> assertThat(e.id()).isEqualTo(ErrorId.BUFFER_LIMIT))
                .hasMessageContainingAll(
                        "rank 2 of 4 has asked for 200 bytes for stages of MPI",
                        "the 900 bytes in use",
                        "HVD_MAX_BUFFER_BYTES=1000",
                        "checkpoints (direct) 600, batches of GPU tensors (pinned) 300");
        pinned.giveBack();
        assertThat(ledger.direct(Owner.MPI, 200).capacity()).isEqualTo(200);
        Reference.reachabilityFence(held);
    }

    @Test
    void gpuMemoryIsCountedBesideTheLimit() {
        ledger.configure(1000, false);

        Lease gpu = ledger.lease(Owner.GPU_RESULTS, Kind.GPU, 5000);

        assertThat(ledger.direct(Owner.MPI, 1000).capacity()).isEqualTo(1000);
        gpu.giveBack();
    }

    @Test
    void whatCouldNotBeAllocatedDoesNotCount() {
        Lease lease = ledger.lease(Owner.DATA, Kind.PINNED, 100);

        assertThatThrownBy(() -> lease.unlessFailing(() -> {
                    throw new IllegalStateException("the driver has none");
                }))
                .hasMessage("the driver has none");
        assertThat(ledger.uses()).containsExactly(new Use(Owner.DATA, Kind.PINNED, 0, 0, 100));
    }

    @Test
    void whenTheLastRankLeavesWhatIsStillHeldIsListedWithItsPlace() {
        ledger.configure(0, true);
        ledger.joined("rank 0 of 2");
        ledger.joined("rank 1 of 2");
        ByteBuffer held = ledger.direct(Owner.CHECKPOINTS, 123);
        ByteBuffer ofTheJob = ledger.direct(Owner.MPI, 456);
        ledger.direct(Owner.CHECKS, 789);
        Lease leased = ledger.lease(Owner.DATA, Kind.GPU, 321);

        assertThat(ledger.left("rank 1 of 2")).as("rank 0 is still there").isEmpty();
        List<String> left = ledger.left("rank 0 of 2");

        assertThat(left).hasSize(2);
        assertThat(left.get(0)).contains("data sets and loaders (gpu) 321 bytes", "BufferLedgerTest.whenTheLastRank");
        assertThat(left.get(1)).contains("checkpoints (direct) 123 bytes", "BufferLedgerTest.whenTheLastRank");
        Reference.reachabilityFence(List.of(held, ofTheJob, leased));
    }

    @Test
    void withoutPlacesNothingIsListed() {
        ledger.joined("rank 0 of 1");
        ByteBuffer held = ledger.direct(Owner.CHECKPOINTS, 123);

        assertThat(ledger.left("rank 0 of 1")).isEmpty();
        assertThat(collections).isZero();
        Reference.reachabilityFence(held);
    }

    @Test
    void pagesOfADataSetAreCountedButNotLimitedAndASharedSegmentIs(@TempDir Path folder) throws IOException {
        Path file = Files.write(folder.resolve("records"), new byte[300]);
        ledger.configure(200, false);
        try (FileChannel channel = FileChannel.open(file)) {
            ByteBuffer mapped = ledger.map(Owner.DATA, channel, MapMode.READ_ONLY, 0, 300);

            assertThatThrownBy(() -> ledger.map(Owner.SHARED_MEMORY, channel, MapMode.READ_ONLY, 0, 300))
                    .isInstanceOf(HvdException.class)
                    .hasMessageContaining("300 bytes for shared memory of a host");
            assertThat(ledger.uses()).containsExactly(new Use(Owner.DATA, Kind.MAPPED, 1, 300, 300));
            Reference.reachabilityFence(mapped);
        }
    }

    /** A buffer that is made elsewhere would be in no table and under no limit. */
    @Test
    void allOfHvdsBuffersAreMadeHere() throws IOException {
        List<String> elsewhere = new ArrayList<>();
        for (String module : List.of("hvd-core", "hvd-optimizer")) {
            assertThat(Modules.names()).contains(module);
            try (Stream<Path> files = Files.walk(Path.of("..", module, "src", "main", "java"))) {
                for (Path file :
                        files.filter(one -> one.toString().endsWith(".java")).toList()) {
                    String text = Files.readString(file);
                    if (text.contains(".allocateDirect(") || text.contains("MapMode.READ_ONLY, 0, channel.size()")) {
                        elsewhere.add(file.getFileName().toString());
                    }
                }
            }
        }

        // the driver's file is only looked at
        assertThat(elsewhere).containsExactlyInAnyOrder("BufferLedger.java", "DriverLibrary.java");
    }
}
