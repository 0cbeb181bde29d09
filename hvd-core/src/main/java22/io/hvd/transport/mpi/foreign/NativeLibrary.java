package io.hvd.transport.mpi.foreign;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;

/**
 * Loads MPI's library so that all its symbols are visible to what it loads itself: the plug-ins of some builds are not linked
 * with it and look them up in the process.
 */
final class NativeLibrary {
    private static final int RTLD_NOW = 2;
    private static final int RTLD_GLOBAL = 0x100;

    private NativeLibrary() {}

    /** @throws HvdException with the loader's own words if the file is missing or of another architecture */
    static SymbolLookup load(String file) {
        Linker linker = Linker.nativeLinker();
        try (Arena arena = Arena.ofConfined()) {
            keepSignals(linker, arena);
            var dlopen = linker.downcallHandle(
                    linker.defaultLookup().find("dlopen").orElseThrow(),
                    FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
            // Looked up before, because a look-up of the loader's clears its last error.
            var dlerror = linker.downcallHandle(
                    linker.defaultLookup().find("dlerror").orElseThrow(), FunctionDescriptor.of(ValueLayout.ADDRESS));
            var handle = (MemorySegment) dlopen.invokeExact(arena.allocateFrom(file), RTLD_NOW | RTLD_GLOBAL);
            if (handle.address() == 0) {
                throw new HvdException(
                        ErrorId.INIT_FAILED,
                        "MPI's library cannot be loaded: " + words((MemorySegment) dlerror.invokeExact()));
            }
        } catch (IllegalCallerException e) {
            throw new HvdException(
                    ErrorId.INIT_FAILED,
                    "Java does not let hvd call MPI: add --enable-native-access=ALL-UNNAMED to java's flags",
                    e);
        } catch (HvdException e) {
            throw e;
        } catch (Throwable e) {
            throw Functions.unexpected("dlopen", e);
        }
        return SymbolLookup.libraryLookup(file, Arena.global());
    }

    /** UCX, which some MPIs load, would take SIGSEGV from the JVM, which stops its threads by it. */
    private static void keepSignals(Linker linker, Arena arena) throws Throwable {
        var setenv = linker.downcallHandle(
                linker.defaultLookup().find("setenv").orElseThrow(),
                FunctionDescriptor.of(
                        ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.JAVA_INT));
        int unused = (int) setenv.invokeExact(arena.allocateFrom("UCX_ERROR_SIGNALS"), arena.allocateFrom(""), 1);
    }

    private static String words(MemorySegment text) {
        return text.address() == 0
                ? "no reason given"
                : text.reinterpret(Long.MAX_VALUE).getString(0);
    }
}
