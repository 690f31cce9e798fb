#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the picture files of this folder, and in expected.txt what Pillow makes of them: a line a picture, `name width height
checksum` (FNV-1a, 64 bits, of the RGB bytes after exif_transpose and convert("RGB")). Needs Pillow with WebP and TIFF, avifenc and
heif-enc. AVIF and HEIC files that lose nothing have the pixels of the PNG file they were made from; those that do are not in
expected.txt: test_picture_file.c knows what they should look like.

    python3 make_pictures.py            writes pictures and expected.txt
    python3 make_pictures.py --check    compares this Pillow with expected.txt
"""
import os
import struct
import subprocess
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


# What was made from what without loss.
LOSSLESS = {"lossless.avif": "rgb.png", "ten_bits.avif": "rgb.png", "alpha.avif": "rgba.png", "grey.avif": "grey_4.png",
            "turned.avif": "rgb.png", "frames.avif": "rgb.png"}


def decoded(name):
    if name == "turned.avif":
        with Image.open(os.path.join(HERE, "rgb.png")) as im:
            rgb = ImageOps.mirror(im.transpose(Image.ROTATE_90))  # a quarter turn to the left, then left and right exchanged
            return rgb.width, rgb.height, folded(rgb.tobytes())
    with Image.open(os.path.join(HERE, LOSSLESS.get(name, name))) as im:
        if name.endswith(".tif"):
            im.load()  # turns it upright; Pillow 9 would turn it again
            rgb = im.convert("RGB")
        else:
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


def tiff(name, size, bits, colours, blocks, tags=(), tile=None, rows=0, big_endian=False, big=False):
    """A TIFF file by hand. bits: one number a sample; blocks: strips of that many rows, or tiles; tags: more (tag, type, values)."""
    end = ">" if big_endian else "<"
    word, at = ("Q", 16) if big else ("I", 8)
    offsets = []
    for b in blocks:
        offsets.append(at)
        at += len(b) + len(b) % 2
    entries = [(256, 4, [size[0]]), (257, 4, [size[1]]), (258, 3, bits), (262, 3, [colours]), (277, 3, [len(bits)])]
    lengths = [len(b) for b in blocks]
    if tile:
        entries += [(322, 4, [tile[0]]), (323, 4, [tile[1]]), (324, 4, offsets), (325, 4, lengths)]
    else:
        entries += [(273, 4, offsets), (278, 4, [rows or size[1]]), (279, 4, lengths)]
    entries = sorted(entries + [e for e in tags])
    if not any(e[0] == 259 for e in entries):
        entries = sorted(entries + [(259, 3, [1])])
    head, room, entry = (8, 8, 20) if big else (2, 4, 12)
    after = at + head + entry * len(entries) + room
    directory, extra = struct.pack(end + ("Q" if big else "H"), len(entries)), b""
    for tag, kind, values in entries:
        raw = struct.pack(end + str(len(values)) + {3: "H", 4: "I"}[kind], *values)
        directory += struct.pack(end + "HH" + word, tag, kind, len(values))
        if len(raw) <= room:
            directory += raw.ljust(room, b"\0")
        else:
            directory += struct.pack(end + word, after + len(extra))
            extra += raw + b"\0" * (len(raw) % 2)
    directory += struct.pack(end + word, 0)
    mark = b"MM" if big_endian else b"II"
    first = mark + (struct.pack(end + "HHHQ", 43, 8, 0, at) if big else struct.pack(end + "HI", 42, at))
    write(name, first + b"".join(b + b"\0" * (len(b) % 2) for b in blocks) + directory + extra)


def tiles(im, w, h):
    """Whole tiles of a picture, bytes of each."""
    return [im.crop((x, y, x + w, y + h)).tobytes() for y in range(0, im.height, h) for x in range(0, im.width, w)]


def write_tiffs():
    w, h = 37, 21
    rgb, rgba, grey, one = scene(w, h), scene(w, h, "RGBA"), scene(w, h, "L"), scene(w, h, "1")
    for name, im, how in (("rgb", rgb, {}), ("lzw", rgb, {"compression": "tiff_lzw", "tiffinfo": {317: 2}}),
                          ("deflate", rgba, {"compression": "tiff_adobe_deflate"}), ("packbits", grey, {"compression": "packbits"}),
                          ("group3", one, {"compression": "group3"}), ("group4", one, {"compression": "group4"}),
                          ("jpeg", rgb, {"compression": "jpeg", "quality": 90}), ("palette", rgb.quantize(60), {}),
                          ("cmyk", rgb.convert("CMYK"), {"compression": "tiff_lzw"}), ("grey_alpha", rgba.convert("LA"), {}),
                          ("zstd", rgb, {"compression": "zstd"})):
        im.save(os.path.join(HERE, name + ".tif"), **how)
    for k in (2, 3, 4, 5, 6, 7, 8):
        rgb.save(os.path.join(HERE, "orientation_%d.tif" % k), compression="tiff_lzw", tiffinfo={274: k})
    rgb.save(os.path.join(HERE, "pages.tif"), save_all=True, append_images=[grey, one])

    def deep(n, end, most=65536):
        return b"".join(struct.pack(end + "H", (x * 1771 + y * 977 + c * 20000 + x * y % 300) % most) for y in range(h) for x in range(w) for c in range(n))
    tiff("rgb_16.tif", (w, h), [16] * 3, 2, [deep(3, ">")], big_endian=True)
    tiff("rgba_16.tif", (w, h), [16] * 4, 2, [deep(4, "<")], [(338, 3, [2])])
    tiff("cmyk_16.tif", (w, h), [16] * 4, 5, [deep(4, "<")])
    tiff("grey_16.tif", (w, h), [16], 1, [deep(1, "<", 400)])
    tiff("grey_16_signed.tif", (w, h), [16], 1, [b"".join(struct.pack(">h", 5 * i % 700 - 200) for i in range(w * h))], [(339, 3, [2])], big_endian=True)
    tiff("grey_32.tif", (w, h), [32], 1, [b"".join(struct.pack("<i", 7 * i % 900 - 300) for i in range(w * h))], [(339, 3, [2])])
    tiff("float.tif", (w, h), [32], 1, [b"".join(struct.pack("<f", i * 1.37 % 400 - 60) for i in range(w * h))], [(339, 3, [3])])
    four = [b"".join(bytes(((x + y) % 16 << 4 | (x + 1) * y % 16) for x in range(0, w + 1, 2)) for y in range(k, min(k + 8, h))) for k in range(0, h, 8)]
    tiff("white_zero_4.tif", (w, h), [4], 0, four, rows=8)
    tiff("palette_4.tif", (w, h), [4], 3, four, [(320, 3, [257 * (13 * i * (k + 1) % 256) for k in range(3) for i in range(16)])], rows=8)
    tiff("white_zero.tif", (w, h), [8], 0, [grey.tobytes()])
    turned = bytes(int("{:08b}".format(b)[::-1], 2) for b in one.tobytes())
    tiff("fill_order.tif", (w, h), [1], 1, [turned], [(266, 3, [2])])
    multiplied = b"".join(bytes(c * p[3] // 255 for c in p[:3]) + bytes(p[3:]) for p in rgba.getdata())
    tiff("multiplied.tif", (w, h), [8] * 4, 2, [multiplied], [(338, 3, [1])])
    tiff("tiles.tif", (w, h), [8] * 3, 2, [zlib.compress(t) for t in tiles(rgb, 16, 16)], [(259, 3, [8])], tile=(16, 16))
    tiff("planes.tif", (w, h), [8] * 3, 2, [b.tobytes() for b in rgb.split()], [(284, 3, [2])])
    tiff("plane_tiles.tif", (w, h), [8] * 3, 2, [zlib.compress(t) for b in rgb.split() for t in tiles(b, 32, 16)], [(259, 3, [8]), (284, 3, [2])],
         tile=(32, 16), big_endian=True)
    tiff("big.tif", (w, h), [8] * 3, 2, [rgb.tobytes()], big=True)


def write_avifs_and_heics():
    def make(tool, out, source, *flags):
        subprocess.run([tool, *flags, *([] if tool == "avifenc" else ["-o", out]), *source.split(), *([out] if tool == "avifenc" else [])],
                       cwd=HERE, check=True, stdout=subprocess.DEVNULL)
    fast = ("-j", "1", "-s", "6")
    make("avifenc", "lossless.avif", "rgb.png", "--lossless", *fast)
    make("avifenc", "ten_bits.avif", "rgb.png", "--lossless", "-d", "10", *fast)
    make("avifenc", "alpha.avif", "rgba.png", "--lossless", *fast)
    make("avifenc", "grey.avif", "grey_4.png", "-y", "400", "--min", "0", "--max", "0", *fast)
    make("avifenc", "turned.avif", "rgb.png", "--lossless", "--irot", "1", "--imir", "1", *fast)
    make("avifenc", "frames.avif", "rgb.png rgb.png", "--lossless", *fast)
    make("avifenc", "lossy.avif", "rgb.png", "-y", "420", "--min", "8", "--max", "12", *fast)
    make("avifenc", "multiplied.avif", "rgba.png", "-p", "--lossless", *fast)
    make("heif-enc", "lossless.heic", "rgb.png", "-L", "-p", "chroma=444", "--matrix_coefficients=0")
    make("heif-enc", "alpha.heic", "rgba.png", "-L", "-p", "chroma=444", "--matrix_coefficients=0")
    make("heif-enc", "lossy.heic", "rgb.png", "-q", "90")
    turn_heic("turned.heic", "lossless.heic", 1)
    scene(37, 21).transpose(Image.ROTATE_90).save(os.path.join(HERE, "quarter.png"))
    lie_heic("lying.heic", "lossless.heic", 50000)


def turn_heic(name, source, quarters):
    """A HEIC file of heif-enc with a turn (to the left) given to its second item, the primary one."""
    raw = bytearray(open(os.path.join(HERE, source), "rb").read())
    turn = struct.pack(">I4sB", 9, b"irot", quarters)
    ipco, ipma = raw.index(b"ipco"), raw.index(b"ipma")
    for at, more in ((raw.index(b"meta"), 10), (raw.index(b"iprp"), 10), (ipco, 9), (ipma, 1)):
        raw[at - 4:at] = struct.pack(">I", struct.unpack(">I", raw[at - 4:at])[0] + more)
    where = raw.index(struct.pack(">I", raw.index(b"mdat") + 4))  # in iloc: the first and only piece outside
    raw[where:where + 4] = struct.pack(">I", raw.index(b"mdat") + 4 + 10)
    item = raw.index(b"\0\2\2\3\x84", ipma)  # item 2 has two properties, 3 and 4
    raw[item + 2:item + 5] = b"\3\3\x84\x85"
    raw[ipma - 4:ipma - 4] = turn  # behind the last property, as number 5
    write(name, bytes(raw))


def lie_heic(name, source, side):
    """A HEIC file of heif-enc whose HEVC stream claims another size (in its sequence parameter set) than its container."""
    raw = open(os.path.join(HERE, source), "rb").read()
    at = raw.index(b"\x21\0\1", raw.index(b"hvcC")) + 5  # behind kind, number and length
    n = struct.unpack(">H", raw[at - 2:at])[0]
    old = raw[at:at + n].replace(b"\0\0\3", b"\0\0")
    bits = "".join("{:08b}".format(b) for b in old)

    def golomb(at):
        zeros = bits.index("1", at) - at
        return int(bits[at + zeros:at + 2 * zeros + 1], 2) - 1, at + 2 * zeros + 1
    begin = golomb(120)[1]  # header, profile and the set's number
    chroma, begin = golomb(begin)
    begin += chroma == 3
    end = golomb(golomb(begin)[1])[1]
    code = "{:b}".format(side + 1)
    bits = (bits[:begin] + 2 * ("0" * (len(code) - 1) + code) + bits[end:]).rstrip("0")
    bits += "0" * (-len(bits) % 8)
    new, zeros = b"", 0
    for b in (int(bits[i:i + 8], 2) for i in range(0, len(bits), 8)):
        new += (b"\3" if zeros >= 2 and b <= 3 else b"") + bytes((b,))
        zeros = (0 if zeros >= 2 and b <= 3 else zeros) + 1 if b == 0 else 0
    out = bytearray(raw[:at - 2] + struct.pack(">H", len(new)) + new + raw[at + n:])
    for box in (b"meta", b"iprp", b"ipco", b"hvcC"):
        k = out.index(box)
        out[k - 4:k] = struct.pack(">I", struct.unpack(">I", out[k - 4:k])[0] + len(new) - n)
    where = out.index(struct.pack(">I", raw.index(b"mdat") + 4))
    out[where:where + 4] = struct.pack(">I", out.index(b"mdat") + 4)
    write(name, bytes(out))


def names():
    exact = (".jpg", ".png", ".gif", ".webp", ".bmp", ".tif")
    return sorted(n for n in os.listdir(HERE) if n.endswith(exact) or n in LOSSLESS)


def main():
    path = os.path.join(HERE, "expected.txt")
    if "--check" not in sys.argv:
        write_jpegs(), write_pngs(), write_gifs_and_webps(), write_bmps(), write_tiffs(), write_avifs_and_heics()
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
