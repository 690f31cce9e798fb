#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the picture files of this folder, and in expected.txt what Pillow makes of them: a line a picture, `name width height
checksum` (FNV-1a, 64 bits, of the RGB bytes after exif_transpose and convert("RGB")). Needs Pillow with WebP.

    python3 make_pictures.py            writes pictures and expected.txt
    python3 make_pictures.py --check    compares this Pillow with expected.txt
"""
import os
import struct
import sys
import zlib
from PIL import Image, ImageOps

Image.MAX_IMAGE_PIXELS = None
HERE = os.path.dirname(os.path.abspath(__file__))


def fnv(data):
    h = 0xcbf29ce484222325
    for b in data:
        h = (h ^ b) * 0x100000001b3 & 0xffffffffffffffff
    return h


def folded(data):
    """Long pictures: a CRC of each mebibyte, then FNV of these."""
    if len(data) <= 1 << 20:
        return fnv(data)
    return fnv(b"".join(struct.pack("<I", zlib.crc32(data[i:i + (1 << 20)])) for i in range(0, len(data), 1 << 20)))


def decoded(name):
    with Image.open(os.path.join(HERE, name)) as im:
        rgb = ImageOps.exif_transpose(im).convert("RGB")
        return rgb.width, rgb.height, folded(rgb.tobytes())


def scene(w, h, mode="RGB"):
    """Smooth colours, hard edges, and no symmetry."""
    im = Image.new("RGBA", (w, h))
    px = im.load()
    for y in range(h):
        for x in range(w):
            edge = 255 if 3 * x < w and 4 * y < h else 0
            px[x, y] = (x * 255 // w, y * 255 // h, (edge + 37 * (x // 5 + y // 3)) % 256, (255 - x * 200 // w) if (x + y) % 3 else 0)
    return im.convert(mode)


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(name, w, h, depth, colour, rows, extra=b"", interlace=0):
    head = struct.pack(">IIBBBBB", w, h, depth, colour, 0, 0, interlace)
    write(name, b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def write(name, data):
    with open(os.path.join(HERE, name), "wb") as f:
        f.write(data)


def adam7(im):
    """Rows of an interlaced RGB picture."""
    px, out = im.load(), b""
    for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        for y in range(y0, im.height, dy):
            row = b"".join(bytes(px[x, y]) for x in range(x0, im.width, dx))
            out += b"\0" + row if row else b""
    return out


def bmp(name, w, h, bits, compression, body, palette=b"", masks=b"", top_down=False):
    offset = 14 + 40 + len(masks) + len(palette)
    info = struct.pack("<IiiHHIIiiII", 40, w, -h if top_down else h, 1, bits, compression, len(body), 2835, 2835, len(palette) // 4, 0)
    write(name, b"BM" + struct.pack("<IHHI", offset + len(body), 0, 0, offset) + info + masks + palette + body)


def exif(orientation):
    e = Image.Exif()
    e[0x112] = orientation
    return e.tobytes()


def write_jpegs():
    im = scene(41, 27)
    for k in range(1, 9):
        im.save(os.path.join(HERE, "orientation_%d.jpg" % k), quality=95, exif=exif(k))
    im.save(os.path.join(HERE, "progressive.jpg"), quality=80, progressive=True)
    im.save(os.path.join(HERE, "full_chroma.jpg"), quality=90, subsampling=0)
    im.save(os.path.join(HERE, "half_chroma.jpg"), quality=60, subsampling=1)
    scene(41, 27, "L").save(os.path.join(HERE, "grey.jpg"), quality=90)
    im.convert("CMYK").save(os.path.join(HERE, "cmyk.jpg"), quality=90)


def write_pngs():
    w, h = 37, 21
    rgb, rgba = scene(w, h), scene(w, h, "RGBA")
    rgb.save(os.path.join(HERE, "rgb.png"))
    rgba.save(os.path.join(HERE, "rgba.png"))
    rgba.convert("LA").save(os.path.join(HERE, "grey_alpha.png"))
    rgb.convert("1").save(os.path.join(HERE, "one_bit.png"))
    small = rgb.quantize(4)
    small.save(os.path.join(HERE, "palette_2.png"), bits=2)
    rgb.quantize(200).save(os.path.join(HERE, "palette.png"), transparency=3)
    rgb.save(os.path.join(HERE, "exif.png"), exif=exif(6))
    for name, n, colour in (("rgb_16.png", 3, 2), ("rgba_16.png", 4, 6), ("grey_16.png", 1, 0), ("grey_alpha_16.png", 2, 4)):
        rows = b"".join(b"\0" + b"".join(struct.pack(">H", (x * 1771 + y * 977 + c * 20000 + (x * y) % 300) % 65536 if name != "grey_16.png"
                                                        else (x * 13 + y * 7) % 400) for x in range(w) for c in range(n)) for y in range(h))
        png(name, w, h, 16, colour, rows)
    for depth in (2, 4):
        per, rows = 8 // depth, b""
        for y in range(h):
            v = [(x + y) % (1 << depth) for x in range(w)] + [0] * 7
            rows += b"\0" + bytes(sum(v[x + k] << (8 - depth * (k + 1)) for k in range(per)) for x in range(0, w, per))
        png("grey_%d.png" % depth, w, h, depth, 0, rows)
    png("interlaced.png", w, h, 8, 2, adam7(rgb), interlace=1)
    Image.new("RGB", (1, 1), (12, 200, 77)).save(os.path.join(HERE, "one_pixel.png"))
    scene(1, 5000).save(os.path.join(HERE, "one_column.png"))
    big = Image.new("RGB", (8000, 6000), (250, 250, 245))
    big.paste(scene(64, 48).resize((1600, 1200), Image.NEAREST), (3100, 2700))
    big.quantize(255).save(os.path.join(HERE, "large.png"), optimize=True)


def write_gifs_and_webps():
    a, b = scene(33, 20).quantize(30), scene(20, 33).resize((33, 20)).quantize(30)
    a.save(os.path.join(HERE, "animated.gif"), save_all=True, append_images=[b, a], duration=100)
    a.save(os.path.join(HERE, "interlaced.gif"), interlace=1, transparency=2)
    a.save(os.path.join(HERE, "straight.gif"), interlace=0)
    # A frame of 9 x 7 at 5, 4 on a screen of 20 x 16, with and without a transparent colour.
    part = os.path.join(HERE, "part.gif")
    scene(9, 7).quantize(16).save(part, interlace=0)
    raw = open(part, "rb").read()
    at = raw.index(b",\0\0\0\0\x09\0\x07\0")
    moved = raw[:6] + struct.pack("<HH", 20, 16) + raw[10:at + 1] + struct.pack("<HH", 5, 4) + raw[at + 5:]
    write("part.gif", moved)
    write("part_transparent.gif", moved[:at] + b"!\xf9\4\1\0\0\5\0" + moved[at:] if b"!\xf9" not in moved else moved)
    rgb, rgba = scene(45, 31), scene(45, 31, "RGBA")
    rgb.save(os.path.join(HERE, "lossy.webp"), quality=70)
    rgba.save(os.path.join(HERE, "lossy_alpha.webp"), quality=70)
    rgba.save(os.path.join(HERE, "lossless.webp"), lossless=True, exact=True)
    rgb.save(os.path.join(HERE, "exif.webp"), quality=90, exif=exif(8))
    rgb.save(os.path.join(HERE, "animated.webp"), save_all=True, append_images=[scene(31, 45).resize((45, 31))], duration=80, lossless=True)


def write_bmps():
    w, h = 19, 13
    rgb = scene(w, h)
    rgb.save(os.path.join(HERE, "rgb.bmp"))
    rgb.quantize(50).save(os.path.join(HERE, "palette.bmp"))
    rgb.convert("1").save(os.path.join(HERE, "one_bit.bmp"))
    rgb.convert("L").save(os.path.join(HERE, "grey.bmp"))
    px = rgb.load()
    five = b"".join(struct.pack("<H", px[x, y][0] >> 3 << 10 | px[x, y][1] >> 3 << 5 | px[x, y][2] >> 3) if x < w else b"\0\0"
                    for y in range(h - 1, -1, -1) for x in range(w + w % 2))
    bmp("five_bits.bmp", w, h, 16, 0, five)
    six = b"".join(struct.pack("<H", px[x, y][0] >> 3 << 11 | px[x, y][1] >> 2 << 5 | px[x, y][2] >> 3) if x < w else b"\0\0"
                   for y in range(h) for x in range(w + w % 2))
    bmp("six_bits.bmp", w, h, 16, 3, six, masks=struct.pack("<III", 0xf800, 0x7e0, 0x1f), top_down=True)
    body = b"".join(bytes((px[x, y][2], px[x, y][1], px[x, y][0], 99)) for y in range(h - 1, -1, -1) for x in range(w))
    bmp("rgb_32.bmp", w, h, 32, 0, body)
    palette = b"".join(bytes(((7 * i) % 256, (31 * i) % 256, i, 0)) for i in range(256))
    runs = b"".join(bytes((w - 6, 40 + y, 0, 3, y, 2 * y, 3 * y, 0, 3, 200 - y, 0, 0)) for y in range(h)) + b"\0\1"
    bmp("runs_8.bmp", w, h, 8, 1, runs, palette)


def names():
    return sorted(n for n in os.listdir(HERE) if n.endswith((".jpg", ".png", ".gif", ".webp", ".bmp")))


def main():
    path = os.path.join(HERE, "expected.txt")
    if "--check" not in sys.argv:
        write_jpegs(), write_pngs(), write_gifs_and_webps(), write_bmps()
        with open(path, "w") as f:
            for n in names():
                f.write("%s %d %d %016x\n" % ((n,) + decoded(n)))
        return
    for line in open(path):
        n, w, h, want = line.split()
        got = "%d %d %016x" % decoded(n)
        if got != "%s %s %s" % (w, h, want):
            print("%s: Pillow %s says %s, expected %s %s %s" % (n, Image.__version__, got, w, h, want))
    print("checked with Pillow", Image.__version__)


if __name__ == "__main__":
    main()
