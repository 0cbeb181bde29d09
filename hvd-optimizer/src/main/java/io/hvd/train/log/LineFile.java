package io.hvd.train.log;

import io.hvd.file.RegularFile;
import io.hvd.file.TextFile;
import io.hvd.file.WholeFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/** A text file with a scalar in each line, which whole lines are appended to. */
final class LineFile implements ScalarSink {
    private final Path file;
    private final LineFormat format;
    private FileChannel channel;

    private LineFile(Path file, LineFormat format) {
        this.file = file;
        this.format = format;
    }

    /**
     * Makes the file, or goes on with it; a line that has no end, which a process that was killed may have left, is taken out.
     *
     * @throws FileSystemException that names file and line, if a line is not one of a scalar
     */
    static LineFile open(Path folder, LineFormat format) throws IOException {
        LineFile opened = new LineFile(folder.resolve(format.fileName()), format);
        opened.openWith(Long.MAX_VALUE);
        return opened;
    }

    private void openWith(long lastStep) throws IOException {
        String kept = Files.exists(file) ? upTo(lastStep, file, format) : titles(format);
        WholeFile.write(file, kept.getBytes(StandardCharsets.UTF_8));
        channel = FileChannel.open(file, StandardOpenOption.APPEND);
    }

    @Override
    public void goOnAfter(long lastStep, double seconds) throws IOException {
        channel.close();
        openWith(lastStep);
    }

    private static String titles(LineFormat format) {
        return format.titles().isEmpty() ? "" : format.titles() + "\n";
    }

    private static String upTo(long lastStep, Path file, LineFormat format) throws IOException {
        String text = TextFile.read(RegularFile.at(file));
        StringBuilder kept = new StringBuilder(titles(format));
        // Not lines(): a tag may have a carriage return, which ends no line of the file.
        List<String> lines =
                List.of(text.substring(0, text.lastIndexOf('\n') + 1).split("(?<=\n)"));
        for (int i = format.titles().isEmpty() ? 0 : 1; i < lines.size(); i++) {
            String line = lines.get(i).replaceFirst("\r?\n$", "");
            if (!lines.get(i).isEmpty() && step(line, i + 1, file, format) <= lastStep) {
                kept.append(line).append('\n');
            }
        }
        return kept.toString();
    }

    private static long step(String line, int number, Path file, LineFormat format) throws FileSystemException {
        try {
            return format.step(line);
        } catch (NumberFormatException e) {
            throw new FileSystemException(
                    file.toString(),
                    null,
                    "line " + number + " is no scalar: " + line + "; take it out, or the file away");
        }
    }

    @Override
    public void add(List<Scalar> scalars) throws IOException {
        StringBuilder lines = new StringBuilder();
        scalars.forEach(scalar -> lines.append(format.line(scalar)).append('\n'));
        WholeFile.writeFully(channel, ByteBuffer.wrap(lines.toString().getBytes(StandardCharsets.UTF_8)));
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
