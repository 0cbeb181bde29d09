package io.hvd.monitor.peers;

import io.hvd.net.Encryption;
import io.hvd.net.MalformedMessageException;
import io.hvd.net.MessageReader;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Asks several ranks one question, each on a thread and a connection of its own, and waits no longer than the limit.
 */
final class QuestionSender {
    private static final int MOST_ASKERS = 32;

    private final String threadName;
    private final List<Introduction> all;
    private final MessageAuthentication authentication;
    private final Encryption encryption;

    QuestionSender(
            String threadName, List<Introduction> all, MessageAuthentication authentication, Encryption encryption) {
        this.encryption = encryption;
        this.threadName = threadName;
        this.all = all;
        this.authentication = authentication;
    }

    /** The answers of the ranks that have answered in time, by rank. */
    <T> Map<Integer, T> ask(
            Collection<Integer> ranks, Duration limit, PeerQuestion question, MessageReader.Decoding<T> reader) {
        Map<Integer, T> answers = new ConcurrentHashMap<>();
        if (ranks.isEmpty()) {
            return answers;
        }
        byte[] message = authentication.sign(question.encode());
        List<Callable<Object>> tasks = ranks.stream()
                .map(rank -> Executors.callable(
                        () -> askOne(rank, limit, message, reader).ifPresent(answer -> answers.put(rank, answer))))
                .toList();
        ExecutorService askers = Executors.newFixedThreadPool(Math.min(MOST_ASKERS, ranks.size()), this::asker);
        try {
            askers.invokeAll(tasks, limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            askers.shutdownNow();
        }
        return new TreeMap<>(answers);
    }

    private Thread asker(Runnable task) {
        Thread asker = new Thread(task, threadName);
        asker.setDaemon(true);
        return asker;
    }

    /** Empty if the rank does not answer in time, or is gone. */
    private <T> Optional<T> askOne(int rank, Duration limit, byte[] message, MessageReader.Decoding<T> reader) {
        try {
            Optional<byte[]> answer = authentication.verify(MonitorSockets.ask(
                    encryption, all.get(rank).questions(), authentication.password(), message, (int) limit.toMillis()));
            return answer.map(bytes -> MessageReader.decode("a monitor's answer", bytes, reader));
        } catch (IOException | MalformedMessageException e) {
            return Optional.empty();
        }
    }
}
