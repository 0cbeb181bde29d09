package io.hvd.testing;

import java.io.IOException;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Ports for programs that bind them a moment later. They are none of those that Linux gives to sockets that name no
 * port (from 32,768 on), which another program may be given in that moment.
 */
public final class FreePorts {
    private static final int FIRST = 20_000;
    private static final int LAST = 32_000;

    private FreePorts() {}

    /** A port at which nothing listens. */
    public static int one() {
        return inARow(1);
    }

    /** The first of so many ports in a row at which nothing listens. */
    public static int inARow(int count) {
        int first = ThreadLocalRandom.current().nextInt(FIRST, LAST);
        while (!areFree(first, count)) {
            first = ThreadLocalRandom.current().nextInt(FIRST, LAST);
        }
        return first;
    }

    private static boolean areFree(int first, int count) {
        for (int port = first; port < first + count; port++) {
            try {
                new ServerSocket(port).close();
            } catch (IOException e) {
                return false;
            }
        }
        return true;
    }
}
