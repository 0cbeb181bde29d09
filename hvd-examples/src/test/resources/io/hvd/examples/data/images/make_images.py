#!/usr/bin/python3
"""Writes the images of this folder, and into values.txt what Pillow makes of each: a line with the name, the
columns, the rows and, pixel by pixel in hexadecimal, red, green and blue of Image.open(file).convert('RGB').

Grey images of 16 bits are the exception: Pillow cuts their values off at 255, so nearly all of them are white.
Their lines hold the upper byte, which is what Pillow takes of every other kind of 16-bit pixel.

Run it in this folder with Debian 12's python3-pil (9.4).
"""
import io
import struct
import zlib
from PIL import Image, ImageCms

COLUMNS, ROWS = 19, 13
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def sample(x, y, band, bits):
    """A pattern in which every pixel and band differs from its neighbours."""
    value = (x * 3449 + y * 7919 + band * 21013 + x * y * 101) % 65536
    return value >> (16 - bits)


def chunk(kind, content):
    return struct.pack('>I', len(content)) + kind + content + struct.pack('>I', zlib.crc32(kind + content))


def scan_lines(colour, bits, xs, ys):
    lines = b''
    for y in ys:
        samples = [sample(x, y, band, bits) for x in xs for band in range(CHANNELS[colour])]
        if bits == 16:
            packed = struct.pack('>%dH' % len(samples), *samples)
        else:
            word = ''.join(format(value, '0%db' % bits) for value in samples)
            word += '0' * (-len(word) % 8)
            packed = bytes(int(word[i:i + 8], 2) for i in range(0, len(word), 8))
        lines += b'\0' + packed
    return lines


def png(colour, bits, before=b'', interlaced=False):
    if interlaced:
        passes = [(range(x0, COLUMNS, dx), range(y0, ROWS, dy)) for x0, y0, dx, dy in PASSES]
    else:
        passes = [(range(COLUMNS), range(ROWS))]
    data = b''.join(scan_lines(colour, bits, xs, ys) for xs, ys in passes if len(xs) and len(ys))
    header = struct.pack('>IIBBBBB', COLUMNS, ROWS, bits, colour, 0, 0, int(interlaced))
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + before + chunk(b'IDAT', zlib.compress(data, 9))
            + chunk(b'IEND', b''))


def palette(bits):
    return chunk(b'PLTE', b''.join(bytes((i * 37 % 256, i * 91 % 256, i * 53 % 256)) for i in range(1 << bits)))


def alpha(bits):
    return chunk(b'tRNS', bytes(i * 67 % 256 for i in range(1 << bits)))


def profile():
    """A profile whose red, green and blue are linear, so that whoever applies it gets other colours."""
    srgb = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile('sRGB')).tobytes())
    count = struct.unpack_from('>I', srgb, 128)[0]
    for i in range(count):
        tag, at, size = struct.unpack_from('>4sII', srgb, 132 + 12 * i)
        if tag in (b'rTRC', b'gTRC', b'bTRC'):
            struct.pack_into('>4sII', srgb, at, b'curv', 0, 0)
    return bytes(srgb)


def jpeg(mode, **options):
    bands = {'L': 1, 'RGB': 3, 'CMYK': 4}[mode]
    smooth = bytes((40 + x * 9 + y * 3 + band * 50 + (x * y * band) // 6) % 200
                   for y in range(ROWS) for x in range(COLUMNS) for band in range(bands))
    file = io.BytesIO()
    Image.frombytes(mode, (COLUMNS, ROWS), smooth).save(file, 'JPEG', quality=92, **options)
    return file.getvalue()


def segments(data):
    """The marker segments up to the first scan, and what follows."""
    at, found = 2, []
    while data[at + 1] != 0xda:
        length = struct.unpack_from('>H', data, at + 2)[0]
        found.append((data[at + 1], data[at:at + 2 + length]))
        at += 2 + length
    return found, data[at:]


def without(data, kinds):
    found, rest = segments(data)
    return b'\xff\xd8' + b''.join(segment for kind, segment in found if kind not in kinds) + rest


def adobe(data, transform):
    segment = b'\xff\xee' + struct.pack('>H', 14) + b'Adobe' + struct.pack('>HHHB', 100, 0, 0, transform)
    plain = without(data, (0xe0, 0xee))
    return plain[:2] + segment + plain[2:]


def named_components(data, names):
    """Other numbers of the components, in the frame and in the scan."""
    found, rest = segments(data)
    changed = b'\xff\xd8'
    for kind, segment in found:
        segment = bytearray(segment)
        if kind in (0xc0, 0xc2):
            for i, name in enumerate(names):
                segment[10 + 3 * i] = name
        changed += bytes(segment)
    rest = bytearray(rest)
    for i, name in enumerate(names):
        rest[5 + 2 * i] = name
    return changed + bytes(rest)


def images():
    for bits in (1, 2, 4, 8, 16):
        yield 'grey%d.png' % bits, png(0, bits)
        yield 'grey%d-trns.png' % bits, png(0, bits, chunk(b'tRNS', struct.pack('>H', sample(3, 0, 0, bits))))
    for bits in (8, 16):
        yield 'grey%d-alpha.png' % bits, png(4, bits)
        yield 'rgb%d.png' % bits, png(2, bits)
        yield 'rgb%d-trns.png' % bits, png(2, bits, chunk(
            b'tRNS', struct.pack('>3H', *(sample(3, 0, band, bits) for band in range(3)))))
        yield 'rgb%d-alpha.png' % bits, png(6, bits)
    for bits in (1, 2, 4, 8):
        yield 'palette%d.png' % bits, png(3, bits, palette(bits))
        yield 'palette%d-trns.png' % bits, png(3, bits, palette(bits) + alpha(bits))
    for colour, bits in ((0, 1), (0, 16), (2, 8), (3, 4), (4, 16), (6, 8)):
        yield 'interlaced-%d-%d.png' % (colour, bits), png(colour, bits, palette(bits) if colour == 3 else b'', True)
    yield 'gamma-profile.png', png(2, 8, chunk(b'gAMA', struct.pack('>I', 100000))
                                   + chunk(b'iCCP', b'linear\0\0' + zlib.compress(profile())))
    yield 'palette-png.jpg', png(3, 8, palette(8) + alpha(8))
    yield 'grey.jpg', jpeg('L')
    yield 'rgb.jpg', jpeg('RGB')
    yield 'progressive.jpg', jpeg('RGB', progressive=True)
    yield 'whole-chroma.jpg', jpeg('RGB', subsampling=0)
    yield 'jpeg-named.png', jpeg('RGB')
    turned = Image.Exif()
    turned[0x0112] = 6
    yield 'turned-by-exif.jpg', jpeg('RGB', exif=turned.tobytes())
    yield 'linear-profile.jpg', jpeg('RGB', icc_profile=profile())
    yield 'grey-profile.jpg', jpeg('L', icc_profile=profile())
    yield 'no-jfif.jpg', without(jpeg('RGB', subsampling=0), (0xe0,))
    yield 'no-jfif-halved.jpg', without(jpeg('RGB'), (0xe0,))
    yield 'adobe-rgb.jpg', adobe(jpeg('RGB', subsampling=0), 0)
    yield 'adobe-ycc.jpg', adobe(jpeg('RGB', subsampling=0), 1)
    yield 'named-rgb.jpg', without(named_components(jpeg('RGB', subsampling=0), b'RGB'), (0xe0,))
    yield 'named-otherwise.jpg', without(named_components(jpeg('RGB', subsampling=0), b'\0\1\2'), (0xe0,))
    yield 'cmyk.jpg', jpeg('CMYK')
    yield 'cmyk-profile.jpg', jpeg('CMYK', icc_profile=profile())
    yield 'cmyk-no-adobe.jpg', without(jpeg('CMYK'), (0xe0, 0xee))
    yield 'ycck.jpg', adobe(jpeg('CMYK'), 2)


with open('values.txt', 'w') as values:
    for name, content in images():
        with open(name, 'wb') as file:
            file.write(content)
        with Image.open(name) as image:
            if image.mode == 'I':
                pixels = bytes(value >> 8 for value in image.getdata() for _ in range(3))
            else:
                pixels = image.convert('RGB').tobytes()
            values.write('%s %d %d %s\n' % (name, image.width, image.height, pixels.hex()))
