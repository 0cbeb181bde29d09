package io.hvd.optimizer.torch.shard;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.StorageImpl;
import org.bytedeco.pytorch.StringOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;

/**
 * The memory of a flat parameter, which comes and goes while the parameters of the module, and what autograd has saved of them,
 * stay views of it.
 *
 * <p>LibTorch's tensors refer to a storage, and only the storage to memory. So the memory alone is exchanged, by {@code
 * swap_data_ptr}: no tensor changes, and no version counter either, since nothing is written in place. torch's FSDP resizes the
 * storage to the same end. While there is no memory, whoever reads or writes an element gets an exception with our text.
 */
final class FlatStorage {
    private final Tensor flat;
    private final long bytes;
    private final String whyNone;
    private final BlockPool pool;
    private boolean present;

    /**
     * Makes one that has no memory yet.
     *
     * @param elements of the flat parameter
     * @param options its type and device
     * @param whyNone the text of LibTorch's exception where there is no memory
     */
    FlatStorage(long elements, TensorOptions options, String whyNone, BlockPool pool) {
        this.whyNone = whyNone;
        this.pool = pool;
        try (PointerScope scope = new PointerScope()) {
            Tensor none = torch.empty(new long[] {0}, options, new MemoryFormatOptional());
            this.bytes = elements * none.element_size();
            withoutMemory(none);
            this.flat = none.as_strided(new long[] {elements}, 1).retainReference();
        }
    }

    /** As many bytes as ever to those who ask for a view; there is nothing to read behind them. */
    private void withoutMemory(Tensor tensor) {
        StorageImpl storage = tensor.storage().unsafeGetStorageImpl();
        storage.set_nbytes(bytes);
        storage.release_data_and_set_meta_custom_data_ptr_error_msg_(new StringOptional(whyNone));
    }

    /** A view of a part of it, whether it has memory or not. */
    Tensor view(long offset, long elements, long... shape) {
        return flat.narrow(0, offset, elements).view(shape);
    }

    /** Whether there are elements. */
    boolean isPresent() {
        return present;
    }

    /** Bytes that it takes at the moment. */
    long bytesPresent() {
        return present ? bytes : 0;
    }

    /** Gives the memory back. */
    void release() {
        if (present) {
            try (PointerScope scope = new PointerScope()) {
                pool.keep(BlockPool.takenFrom(flat));
                withoutMemory(flat);
            }
            present = false;
        }
    }

    /** Takes over the memory of a tensor of the same type and size, which has none afterwards. */
    void fill(Tensor whole) {
        try (PointerScope scope = new PointerScope()) {
            flat.storage().unsafeGetStorageImpl().clear_data_ptr_access_error_msg_();
            BlockPool.exchange(flat, whole);
        }
        present = true;
    }

    /** Frees the tensor itself. */
    void close() {
        release();
        flat.releaseReference();
    }
}
