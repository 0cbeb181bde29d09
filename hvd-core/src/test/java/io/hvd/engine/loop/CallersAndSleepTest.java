package io.hvd.engine.loop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.engine.execution.DataLog;
import io.hvd.engine.execution.DeviceWork;
import io.hvd.engine.execution.SetMember;
import io.hvd.engine.message.Batch;
import io.hvd.engine.message.Plan;
import io.hvd.engine.message.Plan.Op;
import io.hvd.engine.message.Request;
import io.hvd.engine.message.Requests;
import io.hvd.engine.plan.CallerRuns;
import io.hvd.engine.plan.CallerRuns.Taken;
import io.hvd.engine.plan.DataPlaneLock;
import io.hvd.engine.plan.HeldPlan;
import io.hvd.engine.plan.PlanExit;
import io.hvd.engine.plan.PromptWaits;
import io.hvd.engine.plan.StepFollower;
import io.hvd.engine.submission.Ops;
import io.hvd.engine.submission.PendingOp;
import io.hvd.engine.submission.TensorQueue;
import io.hvd.engine.tuning.NoCutAdvice;
import io.hvd.error.HvdException;
import io.hvd.error.ShutdownException;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.DataPlane;
import io.hvd.tensor.Tensor;
import io.hvd.trace.FlightRecorder;
import io.hvd.trace.TraceListener;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** Callers' threads and a communication thread around a static plan of two batches, with a made-up data plane. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class CallersAndSleepTest {
    private final FlightRecorder recorder = new FlightRecorder(16);
    private final TensorQueue queue = new TensorQueue(1 << 20, TimeUnit.HOURS.toNanos(1));
    /** The threads that have been in the data plane, in order. */
    private final List<Thread> carriers = Collections.synchronizedList(new ArrayList<>());

    /** What has ended the job. */
    private final List<Throwable> broken = new ArrayList<>();

    private final CountDownLatch message = new CountDownLatch(1);
    /** What the communication thread moves on, and when it wants to be called again. */
    private volatile LongSupplier progress = () -> Long.MAX_VALUE;

    private final DataPlaneLock lock = new DataPlaneLock();
    private final HeldPlan plan =
            new HeldPlan(queue, PlanExit.ofOneRank(() -> {}), new PromptWaits(2, 2), new NoCutAdvice(), false);
    private final StepFollower steps = follower();
    private final Control control = new Control();
    private final Wakeup wakeup = new Wakeup(control);
    private final CallerRuns callerRuns = new CallerRuns(lock, plan, steps);
    private final Sleep sleep = new Sleep(wakeup, () -> progress.getAsLong(), lock, steps);
    /** What a collective does; false for a veto. */
    private volatile BooleanSupplier collective = () -> true;

    private volatile boolean takesAnyThread = true;
    private volatile Thread communication;
    private volatile boolean hasHeard;

    private StepFollower follower() {
        SetMember set =
                new SetMember(0, List.of(0, 1), 0, dataPlane(), Requests.settings(1 << 20, 0), new DataLog(recorder));
        DeviceWork deviceWork = new DeviceWork(broken::add, () -> false);
        StepFollower follower = new StepFollower(lock, set, plan, queue, new DataLog(recorder), deviceWork);
        List<PendingOp> ops = List.of(op("a"), op("b"));
        queue.submit(ops, false, false);
        set.arrived(new Plan(0, List.of(batch("a"), batch("b")), List.of(), false, ""), queue);
        queue.drainFresh();
        queue.take(ops);
        withTheLock(() -> follower.begin(List.of(List.of("a"), List.of("b"))));
        return follower;
    }

    private void withTheLock(Runnable body) {
        lock.take(progress);
        try {
            body.run();
        } finally {
            lock.giveBack();
        }
    }

    /** As the communication thread does before it sleeps. */
    private void rest() {
        withTheLock(steps::rest);
    }

    private static Batch batch(String name) {
        return new Batch.Allreduce(List.of(Op.named(name)), 2);
    }

    private DataPlane dataPlane() {
        return (DataPlane) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {DataPlane.class}, (proxy, method, args) -> {
                    return switch (method.getName()) {
                        case "report", "completion" -> null;
                        case "takesAnyThread" -> takesAnyThread;
                        case "allreduceUnlessVetoed" -> {
                            carriers.add(Thread.currentThread());
                            yield collective.getAsBoolean();
                        }
                        default -> throw new UnsupportedOperationException(method.getName());
                    };
                });
    }

    private PendingOp op(String name) {
        PendingOp op = Ops.op(queue, 0, Requests.sum(name, 4), Tensor.of(1f), recorder);
        recorder.submitted(List.of(op));
        return op;
    }

    private PendingOp submit(String name) {
        return submit(op(name));
    }

    private PendingOp submit(PendingOp op) {
        queue.submit(List.of(op), true, true);
        return op;
    }

    /** Sleeps until the message comes. */
    private final class Control implements ControlChannel {
        private final CountDownLatch asleep = new CountDownLatch(1);
        /** What happens while it sleeps, each for a call; null if it sleeps until the message comes. */
        private Queue<Runnable> during;

        private Inbox inbox;

        @Override
        public void receive(long nanos, Inbox to) {
            asleep.countDown();
            if (during != null) {
                inbox = to;
                during.remove().run();
                return;
            }
            try {
                message.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            hasHeard = true;
        }

        @Override
        public void send(int rank, ByteBuffer words) {}

        @Override
        public boolean isFlushed() {
            return true;
        }

        @Override
        public void wakeUp() {}
    }

    /** @return what the communication thread comes to after its sleep, which has begun */
    private <T> CompletableFuture<T> asleep(Supplier<T> afterwards) throws InterruptedException {
        CompletableFuture<T> result = CompletableFuture.supplyAsync(
                () -> {
                    sleep.begin();
                    steps.rest();
                    sleep.sleep(Long.MAX_VALUE, Long.MAX_VALUE, new RemoteCoordinator(control, List.of()));
                    return afterwards.get();
                },
                this::onCommunicationThread);
        control.asleep.await();
        return result;
    }

    private void onCommunicationThread(Runnable task) {
        communication = new Thread(task, "communication");
        communication.start();
    }

    private static <T> T get(CompletableFuture<T> result) throws Exception {
        return result.get(20, TimeUnit.SECONDS);
    }

    @BeforeEach
    void followsThePlan() {
        assertThat(plan.holds()).isTrue();
    }

    @AfterEach
    void letGo() {
        message.countDown();
    }

    @Test
    void whileTheCommunicationThreadSleepsWhoeverWaitsCarriesHisStepOut() throws Exception {
        asleep(() -> true);
        PendingOp a = submit("a");

        assertThat(callerRuns.take(a)).isEqualTo(Taken.ALL);

        assertThat(carriers).containsExactly(Thread.currentThread());
        assertThat(a.join().tensor().item()).isEqualTo(1);
    }

    /** Another rank may be waiting for what the communication thread has sent, and the program's thread for that rank. */
    @Test
    void theCommunicationThreadMovesOnWhatItHasSentWhileAnotherThreadHasTheTurn() throws Exception {
        CountDownLatch moved = new CountDownLatch(20);
        progress = () -> {
            moved.countDown();
            return 1_000_000;
        };
        CompletableFuture<Boolean> awake = asleep(() -> true);
        collective = () -> {
            message.countDown(); // the communication thread wakes up and wants the lock
            return arrived(moved);
        };
        PendingOp a = submit("a");

        assertThat(callerRuns.take(a)).isEqualTo(Taken.ALL);
        assertThat(get(awake)).isTrue();
    }

    private static boolean arrived(CountDownLatch latch) {
        try {
            return latch.await(20, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Steps in which the program waits as soon as it has submitted the last operation: eight, unless this thread is held up. */
    private void waitsPromptly() {
        while (!plan.promptWaits().areExpected()) {
            PendingOp a = op("a");
            PendingOp b = op("b");
            queue.submit(List.of(a, b), true, true);
            plan.submitted(List.of(a, b));
            plan.observed(List.of(b), true);
            assertThat(callerRuns.take(b)).isEqualTo(Taken.ALL);
        }
    }

    @Test
    void theLastBatchIsLeftToAProgramThatAlwaysWaitsForItAtOnce() throws Exception {
        asleep(() -> true);
        waitsPromptly();

        PendingOp a = submit("a");
        assertThat(callerRuns.take(a)).as("the first batch").isEqualTo(Taken.ALL);
        rest();
        boolean wakes = queue.submit(List.of(op("b")), false, true);

        assertThat(wakes).as("the communication thread").isFalse();
        withTheLock(() ->
                assertThat(steps.lookNanos()).as("until it looks all the same").isEqualTo(5_000_000));
    }

    @Test
    void nothingIsLeftToTheProgramWhileTheCommunicationThreadSleepsForLong() throws Exception {
        asleep(() -> true);
        waitsPromptly();
        assertThat(callerRuns.take(submit("a"))).isEqualTo(Taken.ALL);

        assertThat(queue.submit(List.of(op("b")), false, true)).as("wakes it").isTrue();
    }

    @Test
    void theLastBatchIsNobodysButTheCommunicationThreadsWhereTheProgramDoesOtherThingsFirst() throws Exception {
        asleep(() -> true);
        PendingOp a = submit("a");
        assertThat(callerRuns.take(a)).isEqualTo(Taken.ALL);

        assertThat(queue.submit(List.of(op("b")), false, true)).isTrue();
        withTheLock(() -> assertThat(steps.lookNanos()).isEqualTo(Long.MAX_VALUE));
    }

    @Test
    void whatIsLeftToAProgramThatDoesNotComeIsCarriedOutAllTheSame() throws Exception {
        CompletableFuture<Boolean> communicating = asleep(() -> {
            steps.takeIn(false);
            return steps.isDue() && steps.next();
        });
        waitsPromptly();
        assertThat(callerRuns.take(submit("a"))).isEqualTo(Taken.ALL);
        rest();
        PendingOp b = op("b");
        queue.submit(List.of(b), false, true);

        message.countDown();

        assertThat(get(communicating)).isTrue();
        assertThat(Ops.end(b)).isCompleted();
    }

    @Test
    void nothingIsLeftToACallThatWaitsItselfSoNobodyHasToLook() throws Exception {
        asleep(() -> true);
        waitsPromptly();
        assertThat(callerRuns.take(submit("a"))).isEqualTo(Taken.ALL);
        PendingOp b = op("b");
        b.block();
        assertThat(callerRuns.take(submit(b))).isEqualTo(Taken.ALL);

        assertThat(callerRuns.take(submit("a"))).isEqualTo(Taken.ALL);
        rest();

        withTheLock(() -> assertThat(steps.lookNanos()).isEqualTo(Long.MAX_VALUE));
        assertThat(queue.submit(List.of(op("b")), false, true))
                .as("wakes it if the program does not block this time")
                .isTrue();
    }

    /** What happens during each look of the communication thread's sleep; the sleep after the last of them is over. */
    private int looks(List<Runnable> during) throws Exception {
        control.during = new ArrayDeque<>(during);
        get(CompletableFuture.supplyAsync(
                () -> {
                    sleep.begin();
                    sleep.sleep(TimeUnit.HOURS.toNanos(1), 5_000_000, new RemoteCoordinator(control, List.of("one")));
                    lock.giveBack();
                    return true;
                },
                this::onCommunicationThread));
        return during.size() - control.during.size();
    }

    private void carriesAStepOut() {
        assertThat(callerRuns.take(submit("a"))).isEqualTo(Taken.ALL);
        assertThat(callerRuns.take(submit("b"))).isEqualTo(Taken.ALL);
    }

    @Test
    void theCommunicationThreadSleepsOnAsLongAsTheProgramCarriesOutWhatIsLeftToIt() throws Exception {
        Runnable step = this::carriesAStepOut;

        assertThat(looks(List.of(step, step, step, () -> {}, step))).isEqualTo(4);
    }

    @Test
    void itSleepsOnWhileAnotherThreadHasTheTurn() throws Exception {
        CountDownLatch works = new CountDownLatch(1);
        CompletableFuture<Taken> worker = new CompletableFuture<>();
        collective = () -> {
            works.countDown();
            return arrived(message);
        };
        Runnable begins = () -> {
            new Thread(() -> worker.complete(callerRuns.take(submit("a")))).start();
            arrived(works);
        };
        Runnable ends = () -> {
            message.countDown();
            worker.join();
        };

        assertThat(looks(List.of(begins, () -> {}, () -> {}, ends, () -> {}, () -> {})))
                .isEqualTo(5);
        assertThat(worker).isCompletedWithValue(Taken.ALL);
    }

    /** Even if the call comes at the very moment when the time is over. */
    @Test
    void whoeverRingsEndsTheSleepThoughTheProgramGoesOn() throws Exception {
        Runnable step = this::carriesAStepOut;
        Runnable rings = () -> {
            carriesAStepOut();
            wakeup.ring();
        };

        assertThat(looks(List.of(step, rings, step))).isEqualTo(2);
        assertThat(looks(List.of(step, step, () -> {}))).as("the next sleep").isEqualTo(3);
    }

    @Test
    void newsOfAnotherRankEndTheSleepThoughTheProgramGoesOn() throws Exception {
        Runnable step = this::carriesAStepOut;
        Runnable hears = () -> {
            carriesAStepOut();
            control.inbox.lost(0, "it has crashed");
        };

        assertThat(looks(List.of(step, step, hears, step))).isEqualTo(3);
    }

    @Test
    void theSleepEndsWithItsTimeThoughTheProgramGoesOn() throws Exception {
        control.during = new ArrayDeque<>(List.of(this::carriesAStepOut, this::carriesAStepOut));
        get(CompletableFuture.supplyAsync(
                () -> {
                    sleep.begin();
                    sleep.sleep(2, 1, new RemoteCoordinator(control, List.of()));
                    return true;
                },
                this::onCommunicationThread));

        assertThat(control.during).hasSize(1);
    }

    @Test
    void whatEndsTheJobIsKnownBeforeWhoeverWaitsForTheOperationHearsOfIt() throws Exception {
        asleep(() -> true);
        ShutdownException gone = new ShutdownException("rank 1 is gone");
        collective = () -> {
            throw gone;
        };
        PendingOp a = op("a");
        CompletableFuture<List<Throwable>> known = Ops.end(a).handle((outcome, cause) -> List.copyOf(broken));

        assertThat(callerRuns.take(submit(a))).isEqualTo(Taken.PART);

        assertThat(get(known)).containsExactly(gone);
    }

    @Test
    void batchesBeforeHisOwnAreCarriedOutOnTheWay() throws Exception {
        asleep(() -> true);
        PendingOp a = submit("a");
        PendingOp b = submit("b");

        assertThat(callerRuns.take(b)).isEqualTo(Taken.ALL);

        assertThat(carriers).hasSize(2);
        assertThat(Ops.end(a)).isCompleted();
    }

    @Test
    void whileTheCommunicationThreadWorksNobodyElseDoes() throws Exception {
        CountDownLatch works = new CountDownLatch(1);
        CompletableFuture<Boolean> communicating = CompletableFuture.supplyAsync(
                () -> {
                    sleep.begin();
                    works.countDown();
                    try {
                        return message.await(20, TimeUnit.SECONDS);
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                },
                this::onCommunicationThread);
        works.await();

        assertThat(callerRuns.take(submit("a"))).isEqualTo(Taken.NOTHING);
        assertThat(carriers).isEmpty();
        message.countDown();
        assertThat(get(communicating)).isTrue();
        assertThat(callerRuns.take(submit("b"))).as("after its end").isEqualTo(Taken.NOTHING);
        assertThat(carriers).isEmpty();
    }

    /** It wakes up in the middle of a step on another thread. */
    @Test
    void theCommunicationThreadWaitsForItsTurnAndIsTheNextToHaveIt() throws Exception {
        List<String> order = Collections.synchronizedList(new ArrayList<>());
        CompletableFuture<Boolean> woken = asleep(() -> order.add("communication thread"));
        collective = () -> {
            message.countDown();
            while (!hasHeard || communication.getState() == Thread.State.RUNNABLE) {
                Thread.onSpinWait();
            }
            return order.add("step");
        };

        PendingOp next = op("b");

        assertThat(callerRuns.take(submit("a"))).isEqualTo(Taken.ALL);
        assertThat(callerRuns.take(submit(next)))
                .as("another turn, before the communication thread's")
                .isEqualTo(Taken.NOTHING);

        assertThat(get(woken)).isTrue();
        assertThat(order).containsExactly("step", "communication thread");
    }

    @Test
    void aVetoOnACallersThreadLeavesThePlanAndTheCommunicationThreadIsToldOnce() throws Exception {
        CompletableFuture<List<Boolean>> told = asleep(() -> List.of(callerRuns.wasVetoed(), callerRuns.wasVetoed()));
        collective = () -> false;
        PendingOp a = submit("a");

        assertThat(callerRuns.take(a)).isEqualTo(Taken.PART);

        assertThat(plan.holds()).isFalse();
        assertThat(a.isDone()).as("is negotiated, and carried out then").isFalse();
        assertThat(queue.drainAll()).extracting(PendingOp::name).containsExactly("a");
        message.countDown();
        assertThat(get(told)).containsExactly(true, false);
    }

    @Test
    void whatTheDataPlaneThrowsFailsTheOperationAndReachesTheCommunicationThread() throws Exception {
        CompletableFuture<Boolean> told = asleep(callerRuns::wasVetoed);
        collective = () -> {
            throw new IllegalStateException("the memory is gone");
        };
        PendingOp a = submit("a");

        assertThat(callerRuns.take(a)).isEqualTo(Taken.PART);

        assertThatThrownBy(() -> get(Ops.end(a))).hasMessageContainingAll("allreduce of [a]", "the memory is gone");
        message.countDown();
        assertThatThrownBy(() -> get(told))
                .hasCauseInstanceOf(HvdException.class)
                .hasMessageContaining("the memory is gone");
    }

    /** Not even the operation hears of it, until the communication thread ends all of them. */
    @Test
    void anErrorAroundTheStepReachesTheCommunicationThreadAsItIs() throws Exception {
        CompletableFuture<Boolean> told = asleep(callerRuns::wasVetoed);
        StackOverflowError deep = new StackOverflowError("too deep");
        recorder.listen((TraceListener) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {TraceListener.class}, (proxy, method, args) -> {
                    if (method.getName().equals("started")) {
                        throw deep;
                    }
                    return null;
                }));
        PendingOp a = submit("a");

        assertThat(callerRuns.take(a)).isEqualTo(Taken.PART);

        assertThat(a.isDone()).isFalse();
        message.countDown();
        assertThatThrownBy(() -> get(told)).hasCause(deep);
    }

    @Test
    void aCallbackThatWaitsDoesNotBeginAnotherStepInsideTheFirst() throws Exception {
        asleep(() -> true);
        PendingOp a = submit("a");
        CompletableFuture<Taken> inside = Ops.end(a).thenApply(done -> callerRuns.take(submit("b")));

        assertThat(callerRuns.take(a))
                .as("b is left to the communication thread")
                .isEqualTo(Taken.PART);

        assertThat(get(inside)).isEqualTo(Taken.NOTHING);
        assertThat(carriers).hasSize(1);
    }

    @Test
    void whatIsNoStepOfThePlanIsLeftToTheCommunicationThread() throws Exception {
        asleep(() -> true);
        PendingOp limited = Ops.op(queue, 0, new Request.Barrier("meet", 1_000), null, recorder);
        submit("a");

        assertThat(callerRuns.take(submit(limited))).isEqualTo(Taken.NOTHING);

        assertThat(carriers).isEmpty();
        assertThat(queue.drainFresh()).hasSize(2);
    }

    @Test
    void aDataPlaneThatKeepsToItsThreadIsLeftToTheCommunicationThread() throws Exception {
        takesAnyThread = false;
        asleep(() -> true);

        assertThat(callerRuns.take(submit("a"))).isEqualTo(Taken.PART);

        assertThat(carriers).isEmpty();
    }
}
