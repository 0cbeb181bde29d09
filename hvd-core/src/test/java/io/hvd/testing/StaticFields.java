package io.hvd.testing;

import io.hvd.log.HvdLogger;
import io.hvd.tensor.Shape;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.time.Duration;
import java.time.format.DateTimeFormatter;
import java.util.Comparator;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The static fields of the module whose tests run, by what they may hold. */
public final class StaticFields {
    private static final Set<Class<?>> IMMUTABLE = Set.of(
            AtomicReferenceFieldUpdater.class,
            Charset.class,
            Class.class,
            Comparator.class,
            DateTimeFormatter.class,
            Duration.class,
            HvdLogger.class,
            MethodHandle.class,
            Path.class,
            Pattern.class,
            Shape.class,
            StackWalker.class,
            String.class,
            VarHandle.class);

    private StaticFields() {}

    /** The names of static fields that are variables, or hold what can change. */
    public static Set<String> state() {
        return names(all().filter(field -> !isConstant(field)));
    }

    /** The names of static arrays that stay the same ones. */
    public static Set<String> constantArrays() {
        return names(all().filter(field ->
                Modifier.isFinal(field.getModifiers()) && field.getType().isArray()));
    }

    private static Set<String> names(Stream<Field> fields) {
        Set<String> names = new TreeSet<>();
        fields.forEach(field -> names.add(field.getDeclaringClass().getName() + "." + field.getName()));
        return names;
    }

    private static Stream<Field> all() {
        return ModuleClasses.all().stream()
                .flatMap(type -> Stream.of(type.getDeclaredFields()))
                .filter(field -> Modifier.isStatic(field.getModifiers()) && !field.isSynthetic());
    }

    /** Whether the field always has this value, and the value stays as it is; an array is taken to do so. */
    public static boolean isConstant(Field field) {
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
}
