package io.hvd;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.tensor.Tensor;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Checkers of the compiler and of editors are told which results are all that a call gives. */
class CheckReturnValueTest {
    @Test
    void everyCollectiveThatReturnsItsResultIsMarkedAndNoOtherIs() {
        Set<String> marked = names(method -> method.isAnnotationPresent(ProcessSet.CheckReturnValue.class));

        assertThat(marked)
                .isEqualTo(names(CheckReturnValueTest::returnsItsResult))
                .contains("allreduce", "groupedAllgather", "alltoall", "allgatherObject")
                .doesNotContain("allreduceInPlace", "allreduceAsync", "barrier");
    }

    private static boolean returnsItsResult(Method method) {
        String type = method.getGenericReturnType().getTypeName();
        boolean isResult = method.getReturnType() == Tensor.class
                || method.getReturnType() == AlltoallResult.class
                || type.equals("java.util.List<" + Tensor.class.getName() + ">")
                || type.equals("java.util.List<T>");
        boolean writesIntoItsArgument =
                method.getName().contains("InPlace") || method.getName().equals("receive");
        return isResult && !writesIntoItsArgument;
    }

    private static Set<String> names(Predicate<Method> which) {
        return Arrays.stream(ProcessSet.class.getMethods())
                .filter(method -> method.getDeclaringClass() == ProcessSet.class)
                .filter(which)
                .map(Method::getName)
                .collect(Collectors.toCollection(TreeSet::new));
    }
}
