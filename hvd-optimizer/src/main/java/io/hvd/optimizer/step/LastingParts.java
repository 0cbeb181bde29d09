package io.hvd.optimizer.step;

import io.hvd.optimizer.GradientArithmetic;
import io.hvd.optimizer.Parameter;
import java.util.List;
import java.util.function.IntPredicate;

/**
 * The parts of an optimizer that stay from one generation of ranks to the next.
 *
 * @param arithmetic of the gradients of all parameters
 * @param hasWhole finds out whether a global rank has the whole of a state that is shared out; a collective
 * @param zerosAreSeen whether the gradients are arrays, which do not say whether backward has written into them
 */
public record LastingParts(
        List<Parameter> parameters,
        GradientArithmetic arithmetic,
        IntPredicate hasWhole,
        boolean zerosAreSeen,
        StepProgress progress) {}
