package io.hvd.transport.tcp;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.spi.AbstractSelectableChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.util.Set;
import java.util.function.Consumer;

/** A selector that lets something happen just before or just after a connection is registered with it. */
final class HookedSelector extends AbstractSelector {
    private final Selector inner;
    Runnable beforeRegistration = () -> {};
    Runnable afterRegistration = () -> {};
    /** Whether who asks for the connections asks too early to see any. */
    boolean hidesKeys;

    HookedSelector() throws IOException {
        super(SelectorProvider.provider());
        inner = Selector.open();
    }

    @Override
    protected SelectionKey register(AbstractSelectableChannel channel, int operations, Object attachment) {
        beforeRegistration.run();
        try {
            SelectionKey key = channel.register(inner, operations, attachment);
            afterRegistration.run();
            return key;
        } catch (ClosedChannelException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public Set<SelectionKey> keys() {
        return hidesKeys ? Set.of() : inner.keys();
    }

    @Override
    public Set<SelectionKey> selectedKeys() {
        return inner.selectedKeys();
    }

    @Override
    public int selectNow() throws IOException {
        return inner.selectNow();
    }

    @Override
    public int select(long timeout) throws IOException {
        return inner.select(timeout);
    }

    @Override
    public int select() throws IOException {
        return inner.select();
    }

    @Override
    public int selectNow(Consumer<SelectionKey> action) throws IOException {
        return inner.selectNow(action);
    }

    @Override
    public int select(Consumer<SelectionKey> action, long timeout) throws IOException {
        return inner.select(action, timeout);
    }

    @Override
    public Selector wakeup() {
        return inner.wakeup();
    }

    @Override
    protected void implCloseSelector() throws IOException {
        inner.close();
    }
}
