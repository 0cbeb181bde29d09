package io.hvd.cuda;

import static jcuda.driver.JCudaDriver.cuGetErrorName;
import static jcuda.driver.JCudaDriver.cuGetErrorString;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.function.IntSupplier;
import java.util.stream.IntStream;
import jcuda.CudaException;
import jcuda.driver.CUresult;

/** The result codes of the CUDA driver, as numbers and in words. */
public final class DriverCode {
    /** The words with which JCuda names a code that it does not know. */
    private static final String UNNAMED = "INVALID CUresult: ";

    private DriverCode() {}

    /**
     * The code that a call returns. It works also if the program has told JCuda to throw exceptions, by {@code
     * setExceptionsEnabled}. This setting holds for the whole process, and JCuda then throws for every code but
     * success, such as for an event that is not reached yet.
     */
    public static int of(IntSupplier call) {
        try {
            return call.getAsInt();
        } catch (CudaException e) {
            return named(e.getMessage());
        }
    }

    /** The code with this name; JCuda's exception has only the name, as its message. */
    private static int named(String name) {
        if (name.startsWith(UNNAMED)) {
            return Integer.parseInt(name.substring(UNNAMED.length()));
        }
        // The code that is looked up most often comes first.
        return IntStream.concat(
                        IntStream.of(CUresult.CUDA_ERROR_NOT_READY),
                        IntStream.rangeClosed(CUresult.CUDA_SUCCESS, CUresult.CUDA_ERROR_UNKNOWN))
                .filter(code -> CUresult.stringFor(code).equals(name))
                .findFirst()
                .orElse(CUresult.CUDA_ERROR_UNKNOWN);
    }

    /**
     * Makes a call, and throws unless it succeeds.
     *
     * @param what the call's name for the message, with the arguments that matter
     */
    public static void check(String what, IntSupplier call) {
        check(what, of(call));
    }

    /** Checks the code of a call that was made. */
    public static void check(String call, int code) {
        if (code != CUresult.CUDA_SUCCESS) {
            throw new HvdException(ErrorId.BACK_END, call + " failed: " + explain(code));
        }
    }

    /** The driver's own name and sentence for a code. */
    public static String explain(int code) {
        String[] name = new String[1];
        String[] text = new String[1];
        of(() -> cuGetErrorName(code, name));
        of(() -> cuGetErrorString(code, text));
        return name[0] + " (" + code + "): " + text[0];
    }
}
