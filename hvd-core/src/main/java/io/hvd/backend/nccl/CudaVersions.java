package io.hvd.backend.nccl;

import java.util.Optional;

/**
 * Whether a driver can carry a CUDA runtime: within a major version every driver carries every runtime, and a newer driver
 * all older ones, as NVIDIA's "CUDA Compatibility" has it.
 *
 * @param driver the CUDA that the driver is made for, such as 12040; 0 if the runtime finds no driver
 * @param runtime such as 13000
 */
record CudaVersions(int driver, int runtime) {
    /** The first NVIDIA drivers made for a major version of CUDA; JavaCPP's presets are made for 13. */
    private static final String FIRST_FOR_13 = "580";

    /** Why the runtime cannot be used; empty if it can. */
    Optional<String> obstacle() {
        if (driver / 1000 >= runtime / 1000) {
            return Optional.empty();
        }
        int major = runtime / 1000;
        return Optional.of("the CUDA runtime is " + text(runtime) + ", which needs an NVIDIA driver for CUDA " + major
                + (major == 13 ? " (" + FIRST_FOR_13 + ")" : "") + " or newer; "
                + (driver == 0 ? "it finds none" : "this one is for CUDA " + text(driver)));
    }

    /** {@code 12040} is 12.4. */
    static String text(int code) {
        return code / 1000 + "." + code % 1000 / 10;
    }
}
