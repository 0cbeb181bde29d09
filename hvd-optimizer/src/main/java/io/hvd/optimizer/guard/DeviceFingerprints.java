package io.hvd.optimizer.guard;

import io.hvd.buffer.BufferLedger.Owner;
import io.hvd.cuda.CudaDevice;
import io.hvd.cuda.CudaEvent;
import io.hvd.cuda.CudaStream;
import io.hvd.cuda.PinnedStage;
import io.hvd.error.HvdException;
import io.hvd.tensor.DeviceMemory;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.IntFunction;

/**
 * Fingerprints of tensors on GPUs. A tensor is copied to pinned memory piece by piece; while one piece is under way, the
 * processor takes in the piece before. The GPUs stay open once they have been used; the pinned memory is freed after
 * each use. A thread of its own does the work, so that the caller's current GPU remains the current one.
 */
final class DeviceFingerprints {
    static final int PIECE_BYTES = 1 << 20;

    private final IntFunction<CudaDevice> opener;
    private final Map<Integer, Gpu> gpus = new TreeMap<>();

    /** @param opener opens a GPU by its index */
    DeviceFingerprints(IntFunction<CudaDevice> opener) {
        this.opener = opener;
    }

    /**
     * The fingerprints of memories as they are when the work that is now queued on their streams is done, in the same
     * order. One thread at a time calls it.
     */
    long[] of(List<DeviceMemory> memories) {
        if (memories.isEmpty()) {
            return new long[0];
        }
        CompletableFuture<long[]> work = new CompletableFuture<>();
        Thread thread = new Thread(
                () -> {
                    try {
                        work.complete(fingerprints(memories));
                    } catch (Throwable e) {
                        work.completeExceptionally(e);
                    }
                },
                "hvd-fingerprints");
        thread.setDaemon(true);
        thread.start();
        try {
            return work.join(); // goes on where the caller is interrupted: the other ranks compare as well
        } catch (CompletionException e) {
            throw e.getCause() instanceof HvdException why ? why : new IllegalStateException(e.getCause());
        }
    }

    private long[] fingerprints(List<DeviceMemory> memories) {
        long[] values = new long[memories.size()];
        for (int i = 0; i < values.length; i++) {
            int index = memories.get(i).device().index();
            Gpu gpu = gpus.computeIfAbsent(index, unopened -> new Gpu(opener.apply(unopened)));
            values[i] = gpu.fingerprint(memories.get(i));
        }
        gpus.values().forEach(Gpu::freePieces);
        return values;
    }

    /** One GPU, with a stream for the copies and, while it is in use, the memory for two pieces. */
    private static final class Gpu {
        private final CudaDevice cuda;
        private final CudaStream stream;
        private List<PinnedStage> pieces = List.of();

        Gpu(CudaDevice cuda) {
            this.cuda = cuda;
            this.stream = cuda.createStream();
        }

        private void freePieces() {
            pieces.forEach(PinnedStage::close);
            pieces = List.of();
        }

        /** A piece that is being copied. */
        private record Copy(PinnedStage to, int bytes, CudaEvent arrived) {
            void addTo(Fingerprint fingerprint) {
                arrived.await();
                arrived.close();
                fingerprint.add(to.buffer(), bytes);
            }
        }

        long fingerprint(DeviceMemory memory) {
            cuda.enter();
            if (pieces.isEmpty()) {
                pieces = List.of(
                        cuda.allocatePinned(Owner.CHECKS, PIECE_BYTES), cuda.allocatePinned(Owner.CHECKS, PIECE_BYTES));
            }
            stream.follow(memory.stream());
            Fingerprint fingerprint = new Fingerprint();
            Copy before = null;
            int count = 0;
            for (long from = 0; from < memory.bytes(); from += PIECE_BYTES) {
                int bytes = (int) Math.min(PIECE_BYTES, memory.bytes() - from);
                Copy next = copy(memory.address() + from, bytes, pieces.get(count++ % pieces.size()));
                if (before != null) {
                    before.addTo(fingerprint);
                }
                before = next;
            }
            if (before != null) {
                before.addTo(fingerprint);
            }
            return fingerprint.value();
        }

        private Copy copy(long from, int bytes, PinnedStage to) {
            to.copyFromDevice(from, 0, bytes, stream.handle());
            return new Copy(to, bytes, stream.recordEvent());
        }
    }
}
