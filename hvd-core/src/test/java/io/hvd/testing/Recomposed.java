package io.hvd.testing;

import io.hvd.spi.Backend;
import io.hvd.spi.Bootstrap;
import io.hvd.spi.ControlChannel;
import io.hvd.spi.ControlPlane;
import io.hvd.spi.DataPlane;
import io.hvd.spi.DataPlanes;
import io.hvd.spi.Progress;
import java.util.List;
import java.util.function.BooleanSupplier;

/** Back ends made of another one's parts, of which a test replaces some. */
public final class Recomposed {
    private Recomposed() {}

    /** @param inner not used by itself any longer */
    public static Backend of(Backend inner, Bootstrap bootstrap, ControlPlane control, DataPlanes planes) {
        return new Backend(new Backend.Description(inner.transport(), inner.description()), bootstrap, control, planes);
    }

    /** The control plane of a back end, whose first channel is open already. */
    public static class Control implements ControlPlane {
        private final Backend inner;
        private boolean opened;

        public Control(Backend inner) {
            this.inner = inner;
        }

        @Override
        public ControlChannel open() {
            boolean first = !opened;
            opened = true;
            return first ? first() : inner.openChannel();
        }

        protected ControlChannel first() {
            return inner.control();
        }

        /** Together with the data planes, of which {@link Planes} is the part that ends the whole. */
        @Override
        public void abandon(String why) {
            inner.abandon(why);
        }

        @Override
        public void discard() {
            inner.discard();
        }

        @Override
        public void close() {
            // The planes close all.
        }
    }

    /** The data planes of a back end; they end the whole of it. */
    public static class Planes implements DataPlanes {
        private final Backend inner;

        public Planes(Backend inner) {
            this.inner = inner;
        }

        @Override
        public DataPlane ofAll() {
            return inner.collectives();
        }

        @Override
        public DataPlane of(List<Integer> members) {
            return inner.collectives(members);
        }

        @Override
        public void programWaits(BooleanSupplier waits) {
            inner.programWaits(waits);
        }

        @Override
        public Progress progress() {
            return inner.progress();
        }

        @Override
        public void abandon(String why) {
            inner.abandon(why);
        }

        @Override
        public void leave() {
            // Left together with the rest.
        }

        @Override
        public void close() {
            inner.close();
        }
    }
}
