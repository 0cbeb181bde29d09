package io.hvd.launch.archive;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Main class of a process that locks a file, says so by a line, and keeps the lock until it is ended. */
final class LockHolder {

    private LockHolder() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        try (FileChannel channel = FileChannel.open(Path.of(args[0]), StandardOpenOption.WRITE)) {
            System.out.println(channel.lock());
            Thread.currentThread().join();
        }
    }
}
