package io.hvd.junit;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.error.HvdException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContextProvider;
import org.junit.platform.commons.support.ReflectionSupport;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/** Runs the tests that carry {@link Ranks}, and is of no use without that annotation. */
public final class RanksExtension implements TestTemplateInvocationContextProvider {
    /** JUnit makes one. */
    public RanksExtension() {}

    @Override
    public boolean supportsTestTemplate(ExtensionContext context) {
        return context.getRequiredTestMethod().isAnnotationPresent(Ranks.class);
    }

    @Override
    public Stream<TestTemplateInvocationContext> provideTestTemplateInvocationContexts(ExtensionContext context) {
        Method test = context.getRequiredTestMethod();
        int[] sizes = test.getAnnotation(Ranks.class).value();
        if (sizes.length == 0 || Arrays.stream(sizes).anyMatch(size -> size < 1)) {
            throw new ExtensionConfigurationException("@Ranks(" + Arrays.toString(sizes) + ") of " + test.getName()
                    + ": expected at least one number of ranks, each 1 or more");
        }
        return Arrays.stream(sizes).mapToObj(OnRanks::new);
    }

    /** One run of a test on so many ranks. */
    private record OnRanks(int size)
            implements TestTemplateInvocationContext, InvocationInterceptor, ParameterResolver {
        @Override
        public String getDisplayName(int number) {
            return size == 1 ? "1 rank" : size + " ranks";
        }

        @Override
        public List<Extension> getAdditionalExtensions() {
            return List.of(this);
        }

        @Override
        public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
            return parameter.getParameter().getType() == HvdContext.class;
        }

        /** There are no ranks yet: each puts its context here later. */
        @Override
        public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
            if (!parameter.getDeclaringExecutable().isAnnotationPresent(Ranks.class)) {
                throw new ParameterResolutionException(parameter.getDeclaringExecutable()
                        + " has an HvdContext, but runs once, before or after the ranks: expected one only on a method with"
                        + " @Ranks");
            }
            return null;
        }

        @Override
        public void interceptTestTemplateMethod(
                Invocation<Void> invocation, ReflectiveInvocationContext<Method> call, ExtensionContext context)
                throws Throwable {
            invocation.skip(); // the ranks call the method instead
            Map<Throwable, Integer> ranks = Collections.synchronizedMap(new IdentityHashMap<>());
            try {
                Hvd.spawn(size, hvd -> {
                    try {
                        return ReflectionSupport.invokeMethod(
                                call.getExecutable(), call.getTarget().orElse(null), arguments(call, hvd));
                    } catch (Throwable thrown) {
                        ranks.put(thrown, hvd.rank());
                        throw thrown;
                    }
                });
            } catch (HvdException e) {
                throw asJUnitShowsIt(e, ranks);
            }
        }

        private static Object[] arguments(ReflectiveInvocationContext<Method> call, HvdContext hvd) {
            Object[] arguments = call.getArguments().toArray();
            Class<?>[] types = call.getExecutable().getParameterTypes();
            for (int i = 0; i < arguments.length; i++) {
                arguments[i] = types[i] == HvdContext.class ? hvd : arguments[i];
            }
            return arguments;
        }

        /** An assertion stays one, with its two values, so that a test's runner shows how they differ. */
        private Throwable asJUnitShowsIt(HvdException spawned, Map<Throwable, Integer> ranks) {
            Throwable first = spawned.getCause();
            Throwable shown = spawned;
            if (first instanceof TestAbortedException) {
                shown = first;
            } else if (first instanceof AssertionError && ranks.containsKey(first)) {
                String message = "rank " + ranks.get(first) + " of " + size + ": " + first.getMessage();
                shown = first instanceof AssertionFailedError failed && failed.isExpectedDefined()
                        ? new AssertionFailedError(message, failed.getExpected(), failed.getActual(), first)
                        : new AssertionFailedError(message, first);
                for (Throwable other : spawned.getSuppressed()) {
                    shown.addSuppressed(other);
                }
            }
            return shown;
        }
    }
}
