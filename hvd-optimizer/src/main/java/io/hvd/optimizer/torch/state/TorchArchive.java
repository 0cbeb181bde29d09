package io.hvd.optimizer.torch.state;

import io.hvd.error.HvdException;
import io.hvd.optimizer.StateSize;
import java.io.ByteArrayOutputStream;
import java.util.function.Consumer;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.ArchiveWriter;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OutputArchive;

/** LibTorch's own archive format, in memory. */
public final class TorchArchive {
    /**
     * Held while there is a callback of LibTorch's archives. JavaCPP has ten functions for each kind of them in a process; the eleventh, of
     * a rank that is a thread, would be a null function, and end the process.
     */
    static final Object CALLBACKS = new Object();

    private TorchArchive() {}

    /**
     * @param most bytes that the archive may have
     * @throws HvdException if it has more
     */
    public static byte[] write(Consumer<OutputArchive> save, int most) {
        try (OutputArchive archive = new OutputArchive()) {
            save.accept(archive);
            synchronized (CALLBACKS) {
                try (Collector collector = new Collector(most)) {
                    archive.save_to(collector);
                    return collector.bytes();
                }
            }
        }
    }

    /** The optimizer's archive, the same bytes for the same state. */
    public static byte[] writeState(Optimizer optimizer) {
        return numbered(write(optimizer::save, StateSize.LARGEST));
    }

    /** Writes an archive in the form of {@link NumberedArchive}. */
    static byte[] numbered(byte[] archive) {
        try (PointerScope scope = new PointerScope()) {
            return write(
                    numbered -> open(archive, opened -> NumberedArchive.copy(opened, numbered)), StateSize.LARGEST);
        }
    }

    public static void open(byte[] bytes, Consumer<InputArchive> use) {
        try (InputArchive archive = new InputArchive();
                BytePointer memory = new BytePointer(bytes)) {
            archive.load_from(memory, bytes.length);
            use.accept(archive);
        }
    }

    /** Takes the archive's bytes as LibTorch writes them, and only counts them once there are too many. */
    private static final class Collector extends ArchiveWriter {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final int most;
        private long count;

        Collector(int most) {
            this.most = most;
        }

        /** No exception leaves it, since LibTorch's code is below it on the stack. */
        @Override
        public long call(Pointer data, long length) {
            count += length;
            if (count <= most) {
                byte[] part = new byte[(int) length];
                new BytePointer(data).get(part);
                bytes.writeBytes(part);
            }
            return length;
        }

        byte[] bytes() {
            StateSize.require("a LibTorch optimizer", count, most);
            return bytes.toByteArray();
        }
    }
}
