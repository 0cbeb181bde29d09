package io.hvd.transport.mpi.foreign;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Loads MPI's library so that all its symbols are visible to what it loads itself: the plug-ins of some builds are not linked
 * with it and look them up in the process. A look-up of Java's own would hide them.
 */
final class NativeLibrary {
    private static final int RTLD_NOW = 2;
    /** Linux's value. */
    private static final int RTLD_GLOBAL = 0x100;

    private NativeLibrary() {}

    /** @throws HvdException with the loader's own words if it refuses the file */
    static SymbolLookup load(String file) {
        try (Arena arena = Arena.ofConfined()) {
            MethodHandle setenv = function("setenv", FunctionDescriptor.of(JAVA_INT, ADDRESS, ADDRESS, JAVA_INT));
            MethodHandle dlopen = function("dlopen", FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_INT));
            MethodHandle dlsym = function("dlsym", FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS));
            // Looked up before dlopen, because a look-up clears the loader's last error.
            MethodHandle dlerror = function("dlerror", FunctionDescriptor.of(ADDRESS));
            // UCX, which some MPIs load, would take SIGSEGV from the JVM, which stops its threads by it.
            int unused = (int) setenv.invokeExact(arena.allocateFrom("UCX_ERROR_SIGNALS"), arena.allocateFrom(""), 1);
            MemorySegment handle = (MemorySegment) dlopen.invokeExact(arena.allocateFrom(file), RTLD_NOW | RTLD_GLOBAL);
            if (handle.address() == 0) {
                throw new HvdException(
                        ErrorId.INIT_FAILED,
                        "MPI's library cannot be loaded: " + why(file, words((MemorySegment) dlerror.invokeExact()))
                                + "; HVD_MPI_LIBRARY names the file to load");
            }
            return name -> symbol(dlsym, handle, name);
        } catch (Throwable e) {
            throw Functions.unexpected("dlopen", e);
        }
    }

    private static MethodHandle function(String name, FunctionDescriptor signature) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().find(name).orElseThrow(), signature);
    }

    private static Optional<MemorySegment> symbol(MethodHandle dlsym, MemorySegment library, String name) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = (MemorySegment) dlsym.invokeExact(library, arena.allocateFrom(name));
            return found.address() == 0 ? Optional.empty() : Optional.of(found);
        } catch (Throwable e) {
            throw Functions.unexpected("dlsym", e);
        }
    }

    /** The system's loader passes over a file for another processor, and then says that there is none. */
    private static String why(String file, String words) {
        boolean denied = words.equals(file + ": cannot open shared object file: No such file or directory");
        return denied && Files.exists(Path.of(file)) ? file + " is not for this Java's processor" : words;
    }

    private static String words(MemorySegment text) {
        return text.address() == 0
                ? "no reason given"
                : text.reinterpret(Long.MAX_VALUE).getString(0);
    }
}
