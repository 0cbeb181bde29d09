package io.hvd.optimizer.torch;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Field;
import java.net.JarURLConnection;
import java.net.URL;
import java.net.URLConnection;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.bytedeco.javacpp.ClassProperties;
import org.bytedeco.javacpp.Loader;

/**
 * Answers beforehand, for some forty optional libraries of LibTorch's, what JavaCPP would find out slowly. JavaCPP asks the
 * class path for each name of each of them, a dozen times, and with JIT compilation that is a fifth of the processor time of
 * a start. Where no jar has a library, only folders are left to look at, and JavaCPP keeps such an answer by name.
 *
 * <p>Where JavaCPP's table cannot be reached, as on the module path, it searches as before.
 */
final class LibrarySearch {
    private static final String TABLE = "foundLibraries";
    /** A file that each build of LibTorch has: a jar that lists no such folder says nothing about the others either. */
    private static final String ALWAYS_THERE = "libjnitorch.so";

    private final ClassProperties wanted;
    private final Set<String> inJars;
    private final List<Path> folders;

    /**
     * @param wanted what LibTorch's classes ask JavaCPP for
     * @param inJars names of the native libraries in all jars that JavaCPP would look at
     * @param folders where {@link System#loadLibrary} looks, as JavaCPP does in the end
     */
    LibrarySearch(ClassProperties wanted, Set<String> inJars, List<Path> folders) {
        this.wanted = wanted;
        this.inJars = Set.copyOf(inJars);
        this.folders = List.copyOf(folders);
    }

    /** Fills JavaCPP's table; what LibTorch's classes load afterwards is what they would load without it. */
    static void shorten() {
        try {
            Map<String, URL[]> table = table();
            Class<?> presets = org.bytedeco.pytorch.presets.torch.class;
            ClassProperties wanted = Loader.loadProperties(presets, Loader.loadProperties(), true);
            Set<String> inJars = inJars(presets, wanted);
            if (inJars.contains(ALWAYS_THERE)) {
                new LibrarySearch(wanted, inJars, systemFolders()).fill(table);
            }
        } catch (IOException | ReflectiveOperationException | RuntimeException e) {
            return; // then JavaCPP searches by itself
        }
    }

    @SuppressWarnings("unchecked") // JavaCPP's own field, whose type is Map<String, URL[]>
    private static Map<String, URL[]> table() throws ReflectiveOperationException {
        Field field = Loader.class.getDeclaredField(TABLE);
        field.setAccessible(true);
        return (Map<String, URL[]>) field.get(null);
    }

    void fill(Map<String, URL[]> table) {
        for (String name : names()) {
            if (isInNoJar(name)) {
                table.putIfAbsent(name, Loader.findLibrary(null, wanted, name));
            }
        }
    }

    /** As JavaCPP's table has them: an exclamation mark at the end asks for a global symbol table. */
    private List<String> names() {
        return Stream.of("platform.preload", "platform.link")
                .flatMap(key -> wanted.get(key).stream())
                .map(name -> name.endsWith("!") ? name.substring(0, name.length() - 1) : name)
                .toList();
    }

    /** Any file whose name begins alike leaves the search to JavaCPP, and so does a folder of the system's with such a file. */
    private boolean isInNoJar(String name) {
        String library = System.mapLibraryName(name.replaceFirst("[@#].*", ""));
        String begin = library.substring(0, library.lastIndexOf('.'));
        return !name.contains(":")
                && inJars.stream().noneMatch(file -> file.startsWith(begin))
                && folders.stream().noneMatch(folder -> Files.exists(folder.resolve(library)));
    }

    private static Set<String> inJars(Class<?> presets, ClassProperties wanted) throws IOException {
        List<String> packages = new ArrayList<>(wanted.get("platform.preloadresource"));
        TorchRuntime.LIBRARIES.forEach(library -> packages.add("/org/bytedeco/" + library + "/"));
        List<String> builds = new ArrayList<>(wanted.get("platform.extension"));
        builds.add("");
        Set<String> names = new HashSet<>();
        for (String folder : packages) {
            for (String build : builds) {
                for (URL found : Loader.findResources(presets, folder + Loader.getPlatform() + build + "/")) {
                    names.addAll(names(found));
                }
            }
        }
        return names;
    }

    private static List<String> names(URL folder) throws IOException {
        URLConnection connection = folder.openConnection();
        if (connection instanceof JarURLConnection inJar) {
            String prefix = inJar.getEntryName();
            return inJar.getJarFile().stream()
                    .map(entry -> entry.getName())
                    .filter(name -> name.startsWith(prefix))
                    .map(name -> name.substring(prefix.length()))
                    .toList();
        }
        String[] names = new File(folder.getPath()).list();
        return List.of(names == null ? new String[0] : names);
    }

    private static List<Path> systemFolders() {
        return Stream.of("java.library.path", "sun.boot.library.path")
                .flatMap(property -> Stream.of(System.getProperty(property, "").split(File.pathSeparator)))
                .map(Path::of)
                .toList();
    }
}
