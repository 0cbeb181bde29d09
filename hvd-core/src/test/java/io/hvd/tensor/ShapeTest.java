package io.hvd.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class ShapeTest {
    @Test
    void countsElementsAndRows() {
        Shape shape = Shape.of(2, 3, 5);
        assertThat(shape.rank()).isEqualTo(3);
        assertThat(shape.dim(1)).isEqualTo(3);
        assertThat(shape.elements()).isEqualTo(30);
        assertThat(shape.rowElements()).isEqualTo(15);
        assertThat(Shape.of(7).rowElements()).isEqualTo(1);
        assertThat(Shape.of(0, 4).elements()).isZero();
        assertThat(Shape.of(0, 4).rowElements()).isEqualTo(4);
    }

    @Test
    void noDimensionsMeanAScalarOfOneElement() {
        assertThat(Shape.of()).isSameAs(Shape.scalar());
        assertThat(Shape.scalar().elements()).isEqualTo(1);
        assertThat(Shape.scalar().rank()).isZero();
        assertThat(Shape.scalar()).isNotEqualTo(Shape.of(1));
    }

    @Test
    void replacesTheFirstDimensionOnly() {
        Shape shape = Shape.of(2, 3);
        assertThat(shape.withFirst(9)).isEqualTo(Shape.of(9, 3)).isNotEqualTo(shape);
        assertThat(shape).isEqualTo(Shape.of(2, 3)).hasSameHashCodeAs(Shape.of(2, 3));
    }

    @Test
    void doesNotChangeWithTheArraysThatItTookOrGave() {
        long[] dims = {2, 3};
        Shape shape = Shape.of(dims);
        dims[0] = 99;
        shape.toArray()[1] = 99;
        assertThat(shape).isEqualTo(Shape.of(2, 3)).hasToString("[2, 3]");
    }

    @Test
    void refusesANegativeDimensionAndShowsTheWholeShape() {
        assertThatThrownBy(() -> Shape.of(4, -1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("[4, -1]", "negative");
    }

    @Test
    void refusesMoreElementsThanALongCanCount() {
        assertThatThrownBy(() -> Shape.of(1L << 40, 1L << 40)).isInstanceOf(ArithmeticException.class);
    }
}
