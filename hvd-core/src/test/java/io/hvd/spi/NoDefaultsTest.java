package io.hvd.spi;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.ModuleClasses;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A back end may wrap another one; with a default method the compiler would not notice that it forwards one call less. */
class NoDefaultsTest {
    @Test
    void noInterfaceOfTheSpiHasADefaultMethod() {
        List<Class<?>> interfaces = ModuleClasses.all().stream()
                .filter(type -> type.isInterface() && type.getPackageName().equals("io.hvd.spi"))
                .toList();

        assertThat(interfaces)
                .contains(DataPlanes.class, ControlChannel.class, DataPlane.class, Transfers.Transfer.class);
        assertThat(interfaces.stream().flatMap(type -> Arrays.stream(type.getDeclaredMethods())))
                .filteredOn(Method::isDefault)
                .isEmpty();
    }
}
