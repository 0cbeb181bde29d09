package io.hvd.junit;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.TestTemplate;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A test of JUnit 5 that several ranks run at once, each as a thread of this JVM. It stands in the place of
 * {@link org.junit.jupiter.api.Test}, and needs neither MPI nor a launcher:
 *
 * <pre>{@code
 * @Ranks({1, 4})
 * void theRanksAgree(HvdContext hvd) {
 *     assertEquals(hvd.size(), hvd.allreduce("ones", Tensor.of(1f)).toFloatArray()[0]);
 * }
 * }</pre>
 *
 * <p>The method runs once for each number of ranks. A parameter of the type {@link HvdContext} is the context of the rank,
 * {@link Hvd#init()} returns the same context, and all other parameters are shared by the ranks. So are the fields of the
 * test: methods such as those of {@link org.junit.jupiter.api.BeforeEach} run once, before the ranks begin and after they
 * have ended.
 *
 * <p>The test fails with what the first rank has thrown, and the message names that rank; the other ranks then end as they
 * do in {@link Hvd#spawn}. If a rank aborts the test by an assumption, the test is skipped. {@link
 * org.junit.jupiter.api.Timeout} ends all ranks.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@TestTemplate
@ExtendWith(RanksExtension.class)
public @interface Ranks {
    /** The numbers of ranks, each at least 1; the test runs once for each. */
    int[] value();
}
