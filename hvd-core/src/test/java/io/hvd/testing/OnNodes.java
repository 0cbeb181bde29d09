package io.hvd.testing;

import io.hvd.spi.Backend;
import io.hvd.spi.BackendProvider;
import io.hvd.spi.Topology;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.List;

/** The threads of this JVM, as if they were spread over nodes. */
public final class OnNodes {
    private OnNodes() {}

    /** @param nodes that of every rank */
    public static BackendProvider of(BackendProvider provider, int rank, List<String> nodes) {
        return like(BackendProvider.class, provider, rank, nodes);
    }

    private static <T> T like(Class<T> type, Object inner, int rank, List<String> nodes) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, args) -> {
            if (method.getName().equals("topology")) {
                return Topology.of(rank, nodes, nodes);
            }
            try {
                Object result = method.invoke(inner, args);
                return method.getName().equals("open") ? like(Backend.class, result, rank, nodes) : result;
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }));
    }
}
