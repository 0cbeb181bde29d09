package io.hvd.net;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.ErrorId;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link MessageWriter} and {@link MessageReader}. */
class MessageCodecTest {
    private static <T> T read(byte[] bytes, MessageReader.Decoding<T> body) {
        return MessageReader.decode("a test message", bytes, body);
    }

    private static byte[] ints(int... values) {
        return MessageWriter.encode(out -> Arrays.stream(values).forEach(out::writeInt));
    }

    @Test
    void everyKindOfFieldComesBackAsItWas() throws Exception {
        var address = new InetSocketAddress(InetAddress.getByName("fd00::7"), 65_535);
        byte[] bytes = MessageWriter.encode(out -> {
            out.writeByte(200);
            out.writeBoolean(true);
            out.writeBoolean(false);
            out.writeInt(-7);
            out.writeLong(Long.MIN_VALUE);
            out.writeDouble(0.1);
            out.writeEnum(TimeUnit.HOURS);
            out.writeBytes(new byte[] {1, 2, 3});
            out.writeText("grün ✓");
            out.writeList(List.of("a", "", "c"), MessageWriter::writeText);
            out.writeLongs(List.of(3L, -4L));
            out.writeOptional(Optional.of(9), MessageWriter::writeInt);
            out.writeOptional(Optional.<Integer>empty(), MessageWriter::writeInt);
            out.writeSocketAddress(address);
            out.writeRest(ByteBuffer.wrap(new byte[] {4, 5}));
        });

        read(bytes, in -> {
            assertThat(in.readUnsignedByte()).isEqualTo(200);
            assertThat(in.readBoolean()).isTrue();
            assertThat(in.readBoolean()).isFalse();
            assertThat(in.readInt()).isEqualTo(-7);
            assertThat(in.readLong()).isEqualTo(Long.MIN_VALUE);
            assertThat(in.readDouble()).isEqualTo(0.1);
            assertThat(in.readEnum(TimeUnit.class)).isEqualTo(TimeUnit.HOURS);
            assertThat(in.readBytes()).containsExactly(1, 2, 3);
            assertThat(in.readText()).isEqualTo("grün ✓");
            assertThat(in.readList(MessageReader::readText)).containsExactly("a", "", "c");
            assertThat(in.readLongs()).containsExactly(3L, -4L);
            assertThat(in.readOptional(MessageReader::readInt)).contains(9);
            assertThat(in.readOptional(MessageReader::readInt)).isEmpty();
            assertThat(in.readSocketAddress()).isEqualTo(address);
            assertThat(in.readRest()).isEqualTo(ByteBuffer.wrap(new byte[] {4, 5}));
            return null;
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 127, 128, 129, 65_535, 65_536, 3_000_000})
    void aTextMayBeLongerThan64KiB(int length) {
        String text = "x".repeat(length);

        byte[] bytes = MessageWriter.encode(out -> out.writeText(text));

        assertThat(bytes).hasSize(Integer.BYTES + length);
        assertThat(read(bytes, MessageReader::readText)).isEqualTo(text);
    }

    @Test
    void bitsTakeNoRoomForTheNumbersBelowTheLowest() {
        BitSet bits = new BitSet();
        bits.set(1_000_000);
        bits.set(1_000_013);

        byte[] bytes = MessageWriter.encode(out -> out.writeBits(bits));

        assertThat(bytes).hasSize(4 + 4 + 2);
        assertThat(read(bytes, MessageReader::readBits)).isEqualTo(bits);
        assertThat(read(MessageWriter.encode(out -> out.writeBits(new BitSet())), MessageReader::readBits))
                .isEqualTo(new BitSet());
    }

    @Test
    void aBufferIsReadFromItsPositionToItsLimit() {
        ByteBuffer buffer =
                ByteBuffer.wrap(new byte[] {9, 0, 0, 0, 5, 9}).position(1).limit(5);

        assertThat(MessageReader.<Integer>decode("a test message", buffer, MessageReader::readInt))
                .isEqualTo(5);
        assertThat(buffer.hasRemaining()).isFalse();
        assertThat(MessageWriter.encodeToBuffer(out -> out.writeInt(5))).isEqualTo(buffer.position(1));
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 5, Integer.MIN_VALUE, Integer.MAX_VALUE})
    void aLengthThatTheMessageCannotHoldIsRefused(int length) {
        byte[] bytes = ints(length, 0);
        List<MessageReader.Decoding<?>> fields = List.of(
                MessageReader::readBytes,
                MessageReader::readText,
                MessageReader::readLongs,
                in -> in.readList(MessageReader::readByte));

        for (MessageReader.Decoding<?> field : fields) {
            assertThatThrownBy(() -> read(bytes, field))
                    .isInstanceOfSatisfying(
                            MalformedMessageException.class,
                            e -> assertThat(e.id()).isEqualTo(ErrorId.BACK_END))
                    .hasMessageContaining("a test message of 8 bytes cannot be read at byte 4")
                    .hasMessageContaining("found a length of " + length)
                    .hasMessageContaining("expected 0 to 4");
        }
    }

    @Test
    void aMessageThatIsCutOffIsRefusedWhereItEnds() {
        assertThatThrownBy(() -> read(new byte[7], MessageReader::readLong))
                .isInstanceOf(MalformedMessageException.class)
                .hasMessageContaining("a test message of 7 bytes cannot be read at byte 0")
                .hasMessageContaining("found the end of the message after 7 bytes, expected 8 bytes");
    }

    @Test
    void bytesBehindTheLastFieldAreRefused() {
        assertThatThrownBy(() -> read(new byte[7], MessageReader::readInt))
                .isInstanceOf(MalformedMessageException.class)
                .hasMessageContaining("at byte 4: found 3 bytes more, expected the end of the message");
    }

    @Test
    void valuesThatAreNoneAreRefused() {
        assertMalformed(new byte[] {2}, MessageReader::readBoolean, "a byte 2");
        assertMalformed(new byte[] {7}, in -> in.readEnum(TimeUnit.class), "number 7 of a TimeUnit");
        assertMalformed(
                MessageWriter.encode(out -> {
                    out.writeBytes(new byte[5]);
                    out.writeInt(80);
                }),
                MessageReader::readSocketAddress,
                "an address of 5 bytes");
        assertMalformed(
                MessageWriter.encode(out -> {
                    out.writeBytes(new byte[4]);
                    out.writeInt(65_536);
                }),
                MessageReader::readSocketAddress,
                "port 65536");
        assertMalformed(ints(-1, 0), MessageReader::readBits, "0 bytes of bits from number -1");
        assertMalformed(
                MessageWriter.encode(out -> {
                    out.writeInt(Integer.MAX_VALUE - 7);
                    out.writeBytes(new byte[] {1});
                }),
                MessageReader::readBits,
                "1 bytes of bits");
    }

    @Test
    void aListOfElementsWithoutBytesIsRefusedHoweverManyTheyAre() {
        assertMalformed(ints(1, 0), in -> in.readList(each -> 1), "an element without bytes");
    }

    @Test
    void whatTheValuesTypeRefusesIsMalformedTooAndItsCauseIsKept() {
        assertThatThrownBy(() -> read(ints(-1), in -> new int[in.readInt()]))
                .isInstanceOf(MalformedMessageException.class)
                .hasMessageContaining("cannot be read at byte 4")
                .hasCauseInstanceOf(NegativeArraySizeException.class);
    }

    private static void assertMalformed(byte[] bytes, MessageReader.Decoding<?> body, String found) {
        assertThatThrownBy(() -> read(bytes, body))
                .isInstanceOf(MalformedMessageException.class)
                .hasMessageContaining("found " + found)
                .hasMessageContaining("expected ");
    }
}
