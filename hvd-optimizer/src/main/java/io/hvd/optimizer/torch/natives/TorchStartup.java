package io.hvd.optimizer.torch.natives;

import io.hvd.spi.StartupHook;

/** Unpacks LibTorch at {@code Hvd.init()}, if it is on the class path at all. */
public final class TorchStartup implements StartupHook {
    private static final String LIBTORCH = "org/bytedeco/pytorch/global/torch.class";

    @Override
    public void beforeInit() {
        if (TorchStartup.class.getClassLoader().getResource(LIBTORCH) != null) {
            NativePreparation.unpackOnce();
        }
    }
}
