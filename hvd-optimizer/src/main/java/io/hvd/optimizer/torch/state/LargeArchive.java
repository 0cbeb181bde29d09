package io.hvd.optimizer.torch.state;

import java.io.ByteArrayOutputStream;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.ArchiveWriter;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.OutputArchive;
import org.bytedeco.pytorch.Reader;
import org.bytedeco.pytorch.SizeTSupplier;

/** An archive of LibTorch's of any size, in native memory, in the pieces in which LibTorch writes it. */
final class LargeArchive implements AutoCloseable {
    /** Smaller pieces are put together. */
    private static final int LARGE = 1 << 16;

    /** The pieces by the place at which they begin. */
    private final TreeMap<Long, BytePointer> pieces = new TreeMap<>();

    private final ByteArrayOutputStream small = new ByteArrayOutputStream();
    private long size;

    private LargeArchive() {}

    /** @param save writes an archive */
    static LargeArchive of(Consumer<OutputArchive> save) {
        LargeArchive archive = new LargeArchive();
        try (OutputArchive out = new OutputArchive()) {
            save.accept(out);
            synchronized (TorchArchive.CALLBACKS) {
                try (Collector collector = archive.new Collector()) {
                    out.save_to(collector);
                }
            }
        }
        archive.flush();
        return archive;
    }

    void open(Consumer<InputArchive> use) {
        try (InputArchive in = new InputArchive()) {
            synchronized (TorchArchive.CALLBACKS) {
                try (Source source = new Source();
                        Size length = new Size()) {
                    in.load_from(source, length);
                }
            }
            use.accept(in);
        }
    }

    private void flush() {
        if (small.size() > 0) {
            byte[] bytes = small.toByteArray();
            small.reset();
            pieces.put(size - bytes.length, new BytePointer(bytes));
        }
    }

    @Override
    public void close() {
        pieces.values().forEach(Pointer::close);
    }

    /** No exception leaves it, since LibTorch's code is below it on the stack. */
    private final class Collector extends ArchiveWriter {
        @Override
        public long call(Pointer data, long length) {
            if (length < LARGE) {
                byte[] part = new byte[(int) length];
                new BytePointer(data).get(part);
                small.writeBytes(part);
            } else {
                flush();
                BytePointer copy = new BytePointer(length);
                Pointer.memcpy(copy, data, length);
                pieces.put(size, copy);
            }
            size += length;
            return length;
        }
    }

    private final class Source extends Reader {
        @Override
        public long call(long from, Pointer to, long length) {
            long end = Math.min(size, from + length);
            for (long at = from; at < end; ) {
                Map.Entry<Long, BytePointer> piece = pieces.floorEntry(at);
                long inside = at - piece.getKey();
                long count = Math.min(end - at, piece.getValue().capacity() - inside);
                Pointer.memcpy(
                        new BytePointer(to).getPointer(at - from),
                        piece.getValue().getPointer(inside),
                        count);
                at += count;
            }
            return Math.max(0, end - from);
        }
    }

    private final class Size extends SizeTSupplier {
        @Override
        public long call() {
            return size;
        }
    }
}
