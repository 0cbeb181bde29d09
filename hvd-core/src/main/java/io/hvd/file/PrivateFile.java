package io.hvd.file;

import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;

/** Files that only the user of this process may read. */
public final class PrivateFile {
    private PrivateFile() {}

    /** The attributes of such a file for {@link Files#createFile}; none on Windows, where a file is as private as its folder. */
    public static FileAttribute<?>[] attributes() {
        return FileSystems.getDefault().supportedFileAttributeViews().contains("posix")
                ? new FileAttribute<?>[] {
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
                }
                : new FileAttribute<?>[0];
    }

    /** Whether the file belongs to whom a new file in its folder belongs to, which this process makes to find out. */
    public static boolean isMine(Path file) throws IOException {
        UserPrincipal owner = Files.getOwner(file);
        Path mine = Files.createTempFile(file.toAbsolutePath().getParent(), "hvd", "", attributes());
        try {
            return owner.equals(Files.getOwner(mine));
        } finally {
            Files.delete(mine);
        }
    }
}
