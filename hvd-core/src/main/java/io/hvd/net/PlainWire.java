package io.hvd.net;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** The bytes of a socket as they are. */
record PlainWire(SocketChannel socket) implements Wire {

    @Override
    public boolean shake() {
        return true;
    }

    @Override
    public int read(ByteBuffer into) throws IOException {
        return socket.isBlocking() ? readWithLimit(socket, into) : socket.read(into);
    }

    /** Reads into an array-backed buffer through the socket's stream, because the channel itself has no limit. */
    static int readWithLimit(SocketChannel socket, ByteBuffer into) throws IOException {
        int read = socket.socket()
                .getInputStream()
                .read(into.array(), into.arrayOffset() + into.position(), into.remaining());
        into.position(into.position() + Math.max(0, read));
        return read;
    }

    @Override
    public long read(ByteBuffer[] into) throws IOException {
        return socket.read(into);
    }

    @Override
    public int write(ByteBuffer from) throws IOException {
        return socket.write(from);
    }

    @Override
    public long write(ByteBuffer[] from) throws IOException {
        return socket.write(from);
    }

    @Override
    public boolean flush() {
        return true;
    }

    @Override
    public boolean holdsBytes() {
        return false;
    }
}
