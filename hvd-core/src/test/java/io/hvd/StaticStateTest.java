package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.tensor.Shape;
import io.hvd.testing.CoreClasses;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.time.Duration;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;

/** What hvd-core keeps in static fields: constants, and what this test lists, each with its reason. */
class StaticStateTest {
    /** What a process has once, whatever jobs it takes part in. */
    private static final Map<String, String> STATE = Map.of(
            "io.hvd.Hvd.BOUND", "the context of each rank that is a thread",
            "io.hvd.Hvd.JOB", "watches this process, from its first job on",
            "io.hvd.Hvd.process", "the context of the rank that this process is",
            "io.hvd.backend.mpi.MpiProvider.PROCESS", "MPI starts and ends once in a process",
            "io.hvd.backend.nccl.CudaPresence.process", "a library that has failed to load fails again",
            "io.hvd.backend.nccl.NcclPresence.presence", "a library that has failed to load fails again",
            "io.hvd.backend.nccl.RankGpu.CLEANER", "one thread gives back the memory of all tensors",
            "io.hvd.tensor.HalfRuns.BITS", "each thread's memory for a conversion, worth nothing after it",
            "io.hvd.tensor.HalfRuns.kernels", "which library converts depends on what the process has loaded");

    /** Arrays that nobody writes into after they were made. */
    private static final Map<String, String> CONSTANT_ARRAYS = Map.ofEntries(
            Map.entry("io.hvd.backend.cuda.DriverLibrary.FIRST_FUNCTION", "a name, as C has it"),
            Map.entry("io.hvd.backend.mpi.bindings.OperatorCheck.COUNTS", "sizes to try"),
            Map.entry("io.hvd.backend.mpi.bindings.OperatorCheck.EXTREME_FLOATS", "values to try"),
            Map.entry("io.hvd.engine.StepStudy.LOOKS", "steps after which it looks"),
            Map.entry("io.hvd.tensor.HalfRuns$Table.FLOATS", "the float of each float16"),
            Map.entry("io.hvd.timeline.TimelineFile.END", "the last bytes of a file"));

    private static final Set<Class<?>> IMMUTABLE = Set.of(
            AtomicReferenceFieldUpdater.class,
            Charset.class,
            Class.class,
            Comparator.class,
            DateTimeFormatter.class,
            Duration.class,
            Logger.class,
            MethodHandle.class,
            Path.class,
            Pattern.class,
            Shape.class,
            StackWalker.class,
            String.class,
            VarHandle.class);

    /** A class with a variable and with constants, to see that the test tells them apart. */
    private static final class Example {
        static final List<String> CONSTANT = List.of("a");
        static final Runnable STATELESS = () -> {};
        static final List<String> STATE = new ArrayList<>();
        static final AtomicInteger COUNT = new AtomicInteger();
        static final int[] NUMBERS = {1, 2};
        static String variable;
    }

    @Test
    void variablesAndObjectsThatChangeAreStateAndConstantsAreNot() {
        assertThat(Stream.of(Example.class.getDeclaredFields())
                        .filter(field -> !isConstant(field))
                        .map(Field::getName))
                .containsExactlyInAnyOrder("STATE", "COUNT", "variable");
    }

    @Test
    void staticStateIsWhatIsListedHere() {
        Set<String> found = new TreeSet<>();
        statics().filter(field -> !isConstant(field)).forEach(field -> found.add(name(field)));

        assertThat(found).containsExactlyInAnyOrderElementsOf(STATE.keySet());
    }

    @Test
    void constantArraysAreWhatIsListedHere() {
        Set<String> found = new TreeSet<>();
        statics()
                .filter(field -> Modifier.isFinal(field.getModifiers())
                        && field.getType().isArray())
                .forEach(field -> found.add(name(field)));

        assertThat(found).containsExactlyInAnyOrderElementsOf(CONSTANT_ARRAYS.keySet());
    }

    private static Stream<Field> statics() {
        return CoreClasses.all().stream()
                .flatMap(type -> Stream.of(type.getDeclaredFields()))
                .filter(field -> Modifier.isStatic(field.getModifiers()) && !field.isSynthetic());
    }

    private static boolean isConstant(Field field) {
        Class<?> type = field.getType();
        if (!Modifier.isFinal(field.getModifiers())) {
            return false;
        }
        return type.isPrimitive()
                || type.isEnum()
                || type.isRecord()
                || type.isArray()
                || IMMUTABLE.contains(type)
                || isUnmodifiable(value(field));
    }

    /** Null if the class cannot be used here. */
    private static Object value(Field field) {
        try {
            field.setAccessible(true);
            return field.get(null);
        } catch (IllegalAccessException | LinkageError e) {
            return null;
        }
    }

    /** Collections that refuse changes, and objects without a field. */
    private static boolean isUnmodifiable(Object value) {
        if (value == null) {
            return false;
        }
        String type = value.getClass().getName();
        return type.startsWith("java.util.ImmutableCollections$")
                || type.startsWith("java.util.Collections$Unmodifiable")
                || isStateless(value.getClass());
    }

    private static boolean isStateless(Class<?> type) {
        return type == null
                || Stream.of(type.getDeclaredFields()).allMatch(field -> Modifier.isStatic(field.getModifiers()))
                        && isStateless(type.getSuperclass());
    }

    private static String name(Field field) {
        return field.getDeclaringClass().getName() + "." + field.getName();
    }
}
