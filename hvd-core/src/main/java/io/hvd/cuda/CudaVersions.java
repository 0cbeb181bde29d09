package io.hvd.cuda;

import java.util.Optional;

/**
 * Says whether a driver supports a CUDA runtime. By NVIDIA's "CUDA Compatibility", a driver supports all runtimes of
 * its own major version and of older ones.
 *
 * @param driver the CUDA version that the driver is made for, such as 12040; 0 if the runtime finds no driver
 * @param runtime the version of the runtime, such as 13000
 */
public record CudaVersions(int driver, int runtime) {
    /** The first NVIDIA drivers made for a major version of CUDA; JavaCPP's presets are made for 13. */
    private static final String FIRST_FOR_13 = "580";

    /** The reason why the runtime cannot be used; empty if it can. */
    public Optional<String> obstacle() {
        if (driver / 1000 >= runtime / 1000) {
            return Optional.empty();
        }
        int major = runtime / 1000;
        return Optional.of("the CUDA runtime is " + text(runtime) + ", which needs an NVIDIA driver for CUDA " + major
                + (major == 13 ? " (" + FIRST_FOR_13 + ")" : "") + " or newer; "
                + (driver == 0 ? "it finds none" : "this one is for CUDA " + text(driver)));
    }

    /** Writes a version as text: {@code 12040} is 12.4. */
    public static String text(int code) {
        return code / 1000 + "." + code % 1000 / 10;
    }
}
