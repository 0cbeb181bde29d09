package io.hvd.optimizer.torch.natives;

import io.hvd.cuda.MissingLibrary;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.libtorch.LoadedTorch;
import java.io.IOException;
import java.util.Optional;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.global.torch;

/** LibTorch's native libraries, loaded, or the reasons why they or a GPU cannot be used. */
public final class NativeLibraries {
    private NativeLibraries() {}

    /** Loads LibTorch as {@code TorchRuntime.load} says. */
    public static void load() {
        NativePreparation.prepare();
        requireAlone();
        try {
            Loader.load(torch.class);
        } catch (LinkageError e) {
            throw new HvdException(ErrorId.INIT_FAILED, "LibTorch could not be loaded: " + whyNotLoaded(e), e);
        }
    }

    static void requireAlone() {
        LoadedTorch.now().requireNoDjl("what JavaCPP unpacks for org.bytedeco:pytorch");
    }

    private static String whyNotLoaded(LinkageError error) {
        try {
            return TorchBuild.unpacked().whyNotLoaded().orElseGet(() -> MissingLibrary.named(error));
        } catch (IOException | LinkageError e) {
            error.addSuppressed(e);
            return MissingLibrary.named(error);
        }
    }

    /** Empty if LibTorch, which is loaded, sees a GPU. */
    public static Optional<String> whyNoGpu() {
        load();
        if (torch.hasCUDA()) {
            return Optional.empty();
        }
        try {
            return Optional.of(TorchBuild.unpacked().whyNoGpu());
        } catch (IOException e) {
            return Optional.of("LibTorch sees no GPU, and its libraries cannot be read: " + e);
        }
    }
}
