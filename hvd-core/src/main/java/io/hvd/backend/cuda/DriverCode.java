package io.hvd.backend.cuda;

import static jcuda.driver.JCudaDriver.cuGetErrorName;
import static jcuda.driver.JCudaDriver.cuGetErrorString;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import jcuda.driver.CUresult;

/** What the CUDA driver answers to a call, in words. */
public final class DriverCode {
    private DriverCode() {}

    /** @param call for the message, with the arguments that matter */
    public static void check(String call, int code) {
        if (code != CUresult.CUDA_SUCCESS) {
            throw new HvdException(ErrorId.BACK_END, call + " failed: " + explain(code));
        }
    }

    /** The driver's own name and sentence for a code. */
    public static String explain(int code) {
        String[] name = new String[1];
        String[] text = new String[1];
        cuGetErrorName(code, name);
        cuGetErrorString(code, text);
        return name[0] + " (" + code + "): " + text[0];
    }
}
