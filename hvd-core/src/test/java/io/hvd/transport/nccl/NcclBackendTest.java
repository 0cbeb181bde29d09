package io.hvd.transport.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.spi.Backend;
import io.hvd.spi.Topology;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class NcclBackendTest {
    private final List<Method> asked = new ArrayList<>();

    static List<Method> everyCall() {
        return Arrays.asList(Backend.class.getMethods());
    }

    @ParameterizedTest
    @MethodSource("everyCall")
    void theHostBackEndAnswersWhatIsNotAboutGpus(Method call) throws Exception {
        NcclBackend backend = NcclBackend.withoutGpus(host(), "there are none");
        asked.clear();

        call.invoke(backend, arguments(call));

        assertThat(asked).containsExactlyElementsOf(isAboutGpus(call) ? List.of() : List.of(call));
    }

    private Backend host() {
        return (Backend) Proxy.newProxyInstance(
                Backend.class.getClassLoader(), new Class<?>[] {Backend.class}, (proxy, method, arguments) -> {
                    asked.add(method);
                    return method.getReturnType() == Topology.class
                            ? Topology.of(0, List.of("host"), List.of("host"))
                            : null;
                });
    }

    /** The description also says why there are no GPUs. */
    private static boolean isAboutGpus(Method call) {
        return call.getName().equals("description");
    }

    private static Object[] arguments(Method call) {
        return Arrays.stream(call.getParameterTypes())
                .map(type -> type == int.class ? 3 : null)
                .toArray();
    }
}
