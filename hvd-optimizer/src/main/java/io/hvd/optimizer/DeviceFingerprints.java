package io.hvd.optimizer;

import io.hvd.backend.cuda.CudaDevice;
import io.hvd.backend.cuda.CudaEvent;
import io.hvd.backend.cuda.CudaStream;
import io.hvd.backend.cuda.PinnedStage;
import io.hvd.tensor.DeviceMemory;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntFunction;

/**
 * Fingerprints of tensors on GPUs. A tensor is copied to pinned memory piece by piece; while one piece is under way, the
 * processor takes in the piece before. The GPUs stay open once they have been used.
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
     * The fingerprint of memory as it is when the work that is now queued on its stream is done. Makes the GPU the
     * calling thread's current one.
     */
    long of(DeviceMemory memory) {
        return gpus.computeIfAbsent(memory.device().index(), index -> new Gpu(opener.apply(index)))
                .fingerprint(memory);
    }

    /** One GPU, with a stream for the copies and the memory for two pieces. */
    private static final class Gpu {
        private final CudaDevice cuda;
        private final CudaStream stream;
        private final List<PinnedStage> pieces;

        Gpu(CudaDevice cuda) {
            this.cuda = cuda;
            this.stream = cuda.createStream();
            this.pieces = List.of(cuda.allocatePinned(PIECE_BYTES), cuda.allocatePinned(PIECE_BYTES));
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
