package io.hvd.spi;

import java.util.List;

/** The part of CUDA that is needed to give every rank its own GPU; {@link java.util.ServiceLoader} finds it. */
public interface GpuDriver {
    /**
     * The GPUs that this process may use, in the order of CUDA_VISIBLE_DEVICES; empty without CUDA, which throws
     * nothing.
     */
    List<Gpu> visible();

    /**
     * Makes a GPU the current one of the calling thread.
     *
     * @param index the GPU's place among the visible ones
     */
    void select(int index);

    /**
     * A GPU as the driver names it.
     *
     * @param index its place among the visible ones
     * @param pciId its PCI address, such as {@code 0000:65:00.0}
     */
    record Gpu(int index, String name, String pciId) {}
}
