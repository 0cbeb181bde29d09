package io.hvd.optimizer.torch.shard;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Storage;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * Memory on the host for one whole flat parameter or gradient after the other.
 *
 * <p>LibTorch asks glibc for aligned memory, and glibc looks for a free block that is longer by the alignment. So a block that has been given back
 * does not do for the next tensor of its size, once something small lies behind it, and units that come and go would take new memory until
 * each of them has some. Therefore the blocks of as many units as are there at once are kept. Longer ones glibc maps and gives back
 * to the system, and on a GPU LibTorch's own allocator keeps blocks; such are not kept here.
 */
final class BlockPool {
    /** Two units that are gathered and two gradients, of which one is on its way. */
    private static final int MOST = 4;
    /** glibc maps longer blocks, whatever has been freed before. */
    private static final long KEPT_UP_TO = 32L << 20;

    /** A tensor without elements, whose storage has the memory. */
    private record Block(Tensor carrier, long bytes) {}

    /** The shortest first. */
    private final List<Block> free = new ArrayList<>();

    /**
     * Gives a vector whose elements may be anything.
     *
     * @return to be given to {@link #give}, or released
     */
    Tensor take(long elements, TensorOptions options) {
        for (Block block : free) {
            long size = block.carrier.element_size();
            if (block.bytes >= elements * size
                    && block.carrier.scalar_type().value == options.dtype().toScalarType().value) {
                free.remove(block);
                try (PointerScope scope = new PointerScope()) {
                    return block.carrier.as_strided(new long[] {elements}, 1).retainReference();
                } finally {
                    block.carrier.releaseReference();
                }
            }
        }
        try (PointerScope scope = new PointerScope()) {
            return torch.empty(new long[] {elements}, options, new MemoryFormatOptional())
                    .retainReference();
        }
    }

    /** Takes the memory of a tensor, which has none afterwards, nor have its views; the tensor itself is released. */
    void give(Tensor tensor) {
        try (PointerScope scope = new PointerScope()) {
            keep(takenFrom(tensor));
        }
        tensor.releaseReference();
    }

    /** A tensor without elements that has the memory of another one instead of it. */
    static Tensor takenFrom(Tensor tensor) {
        Tensor carrier = torch.empty(new long[] {0}, tensor.options(), new MemoryFormatOptional());
        exchange(tensor, carrier);
        return carrier;
    }

    /** Lets two tensors, and all of their views, have each other's memory. No version counter changes. */
    static void exchange(Tensor one, Tensor other) {
        try (Storage first = one.storage();
                Storage second = other.storage()) {
            first.swap_data_ptr(second);
        } finally {
            Reference.reachabilityFence(one);
            Reference.reachabilityFence(other);
        }
    }

    /** Keeps the memory of a tensor without elements, or has it freed with the scope. */
    void keep(Tensor carrier) {
        long bytes = carrier.storage().nbytes();
        if (carrier.is_cuda() || bytes > KEPT_UP_TO || bytes == 0) {
            carrier.close();
            return;
        }
        free.add(new Block((Tensor) carrier.retainReference(), bytes));
        free.sort(Comparator.comparingLong(Block::bytes));
        if (free.size() > MOST) {
            free.remove(0).carrier.releaseReference();
        }
    }

    void close() {
        free.forEach(block -> block.carrier.releaseReference());
        free.clear();
    }
}
