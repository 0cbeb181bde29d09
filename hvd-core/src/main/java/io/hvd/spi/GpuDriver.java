package io.hvd.spi;

import java.util.List;

/** What is needed of CUDA to give every rank its own GPU; found by {@link java.util.ServiceLoader}. */
public interface GpuDriver {
    /** The GPUs that this process may use, in the order of CUDA_VISIBLE_DEVICES; empty without CUDA. Never throws for that. */
    List<Gpu> visible();

    /** Makes a GPU the current one of the calling thread. */
    void select(int index);

    /**
     * A GPU as the driver names it.
     *
     * @param index among the visible ones
     * @param pciId such as {@code 0000:65:00.0}
     */
    record Gpu(int index, String name, String pciId) {}
}
