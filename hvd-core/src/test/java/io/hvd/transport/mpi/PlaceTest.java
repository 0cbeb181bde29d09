package io.hvd.transport.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.DamagedMessages;
import org.junit.jupiter.api.Test;

class PlaceTest {
    @Test
    void aPlaceArrivesAsItWasAndADamagedOneIsRefused() {
        var place = new Place("boot 5", "a host with spaces", 3);

        assertThat(Place.decode(place.encode())).isEqualTo(place);
        DamagedMessages.of(place.encode(), Place::decode);
    }
}
