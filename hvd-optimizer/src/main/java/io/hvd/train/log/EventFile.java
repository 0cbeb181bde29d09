package io.hvd.train.log;

import io.hvd.file.WholeFile;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Locale;

/**
 * A TensorBoard event file. A process that goes on with a training begins a file of its own beside the earlier ones, as
 * TensorBoard expects; it reads them in the order of their names.
 */
final class EventFile implements ScalarSink {
    private final FileChannel channel;

    private EventFile(FileChannel channel) {
        this.channel = channel;
    }

    static EventFile begin(Path folder, double seconds) throws IOException {
        EventFile file = new EventFile(create(folder, (long) seconds));
        file.write(EventRecord.fileVersion(seconds));
        return file;
    }

    @Override
    public void goOnAfter(long lastStep, double seconds) throws IOException {
        write(EventRecord.sessionStart(
                seconds, lastStep + 1)); // TensorBoard leaves out what earlier files have from there on
    }

    private static FileChannel create(Path folder, long seconds) throws IOException {
        String process = "hvd." + ProcessHandle.current().pid();
        for (int number = 0; ; number++) {
            Path file = folder.resolve(
                    String.format(Locale.ROOT, "events.out.tfevents.%010d.%s.%d", seconds, process, number));
            try {
                return FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
            } catch (FileAlreadyExistsException e) {
                // This process has begun a file in this second already.
            }
        }
    }

    @Override
    public void add(List<Scalar> scalars) throws IOException {
        ByteArrayOutputStream records = new ByteArrayOutputStream();
        scalars.forEach(scalar -> records.writeBytes(EventRecord.of(scalar)));
        write(records.toByteArray());
    }

    private void write(byte[] bytes) throws IOException {
        WholeFile.writeFully(channel, ByteBuffer.wrap(bytes));
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
