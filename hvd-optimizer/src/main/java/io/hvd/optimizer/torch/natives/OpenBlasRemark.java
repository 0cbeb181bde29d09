package io.hvd.optimizer.torch.natives;

import java.io.IOException;
import java.lang.reflect.Field;
import org.bytedeco.javacpp.Loader;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * JavaCPP warns when OpenBLAS's preset is of another release than JavaCPP itself. hvd recommends such a pair, because OpenBLAS of
 * LibTorch's release is not on Maven Central, and its tests run with that pair. For it, and for no other, the warning is kept
 * back: JavaCPP compares the two when the preset's class is initialised, which happens here, while its logger shows errors only.
 * The level of a logger is no part of SLF4J, so this is for slf4j-simple, the provider that hvd's examples use.
 */
final class OpenBlasRemark {

    private static final String JAVACPP = "1.5.14";
    private static final String OPENBLAS = "0.3.31-1.5.13";
    private static final String PRESET = "org.bytedeco.openblas.presets.openblas_nolapack";
    private static final String SIMPLE_LOGGER = "org.slf4j.simple.SimpleLogger";
    /** LocationAwareLogger.ERROR_INT, as slf4j-simple stores it. */
    private static final int ERROR = 40;

    private OpenBlasRemark() {}

    /** Called before a class of OpenBLAS's is used; if anything is not as expected, the warning appears. */
    static void keepBack() {
        Logger logger = LoggerFactory.getLogger(Loader.class);
        try {
            if (logger.getClass().getName().equals(SIMPLE_LOGGER) && isRecommendedPair()) {
                Field level = logger.getClass().getDeclaredField("currentLogLevel");
                level.setAccessible(true);
                int usual = level.getInt(logger);
                level.setInt(logger, Math.max(usual, ERROR));
                try {
                    Class.forName(PRESET, true, Loader.class.getClassLoader());
                } finally {
                    level.setInt(logger, usual);
                }
            }
        } catch (IOException | ReflectiveOperationException | RuntimeException e) {
            logger.debug("JavaCPP compares its release with OpenBLAS's: {}", e.toString());
        }
    }

    private static boolean isRecommendedPair() throws IOException {
        return JAVACPP.equals(Loader.getVersion()) && OPENBLAS.equals(Loader.getVersion("org.bytedeco", "openblas"));
    }
}
