package io.hvd.optimizer.torch.state;

import io.hvd.optimizer.StateOwner;
import org.bytedeco.pytorch.Optimizer;

/** The whole archive of a LibTorch optimizer of one parameter, in one array. */
public final class MomentsArchive {
    private MomentsArchive() {}

    /** The archive. */
    public static byte[] save(Optimizer optimizer) {
        return TorchArchive.writeState(optimizer);
    }

    /**
     * Takes over an archive of {@link #save}.
     *
     * @param parameter its name, for messages
     * @throws io.hvd.error.HvdException if it is damaged or does not fit
     */
    public static void load(Optimizer optimizer, String parameter, byte[] archive) {
        if (archive.length == 0) {
            throw StateOwner.mismatch("it has no archive of \"" + parameter + "\"");
        }
        new StateArchive(optimizer, tensor -> parameter).load(archive, false);
    }
}
