package io.hvd.doctor;

import io.hvd.doctor.Facts.Interface;
import java.io.IOException;
import java.util.List;

/** The host that this process runs on. */
final class ThisHost implements ExaminedHost {

    private final Probe probe;
    private Listener listener;
    private Dialler dialler;

    ThisHost(Probe probe) {
        this.probe = probe;
    }

    @Override
    public Facts open(Wire.Opening opening) {
        Secret secret = new Secret(opening.secret());
        listener = new Listener(secret);
        dialler = new Dialler(opening.host(), secret);
        Facts facts = probe.facts(opening);
        if (opening.hosts().size() > 1) {
            facts.network().interfaces().stream()
                    .filter(one -> facts.network().used().contains(one.name()))
                    .forEach(this::listen);
        }
        return facts.at(listener.ports());
    }

    private void listen(Interface one) {
        for (String address : one.addresses()) {
            try {
                listener.open(one.name(), address);
            } catch (IOException e) {
                // Gone since it was seen; the others find nobody there.
            }
        }
    }

    @Override
    public List<Link> measure(Wire.Errand errand) {
        return dialler.measure(errand.host(), errand.ports(), errand.millis());
    }

    @Override
    public void close() {
        if (listener != null) {
            listener.close();
        }
    }
}
