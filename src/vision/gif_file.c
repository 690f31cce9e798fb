// SPDX-License-Identifier: Apache-2.0
// gif_file.c — GIF through giflib: the first frame. Where it does not cover the screen there is
// the transparent colour, or else colour 0, as Pillow has it.
#include "vision/picture_format.h"

#include "base/alloc.h"

#include <gif_lib.h>
#include <string.h>

struct reader {
    const struct glint_picture_file *file;
    size_t at;
    int transparent; // colour index, or -1
};

static int on_read(GifFileType *gif, GifByteType *out, int n) {
    struct reader *reader = gif->UserData;
    size_t left = reader->file->n - reader->at;
    size_t take = (size_t)n < left ? (size_t)n : left;
    memcpy(out, reader->file->data + reader->at, take);
    reader->at += take;
    return (int)take;
}

// Goes on to the first frame.
static bool find_frame(GifFileType *gif, struct reader *reader) {
    GifRecordType record;
    while (DGifGetRecordType(gif, &record) == GIF_OK && record != TERMINATE_RECORD_TYPE) {
        if (record == IMAGE_DESC_RECORD_TYPE)
            return DGifGetImageDesc(gif) == GIF_OK;
        int code;
        GifByteType *block = NULL;
        if (DGifGetExtension(gif, &code, &block) != GIF_OK)
            return false;
        if (code == GRAPHICS_EXT_FUNC_CODE && block && block[0] >= 4)
            reader->transparent = block[1] & 1 ? block[4] : -1;
        while (block)
            if (DGifGetExtensionNext(gif, &block) != GIF_OK)
                return false;
    }
    return false;
}

// Without a colour table an index is a grey level.
static void put_colour(uint8_t *out, const ColorMapObject *map, int index) {
    memset(out, map ? 0 : index, 3);
    if (map && index < map->ColorCount) {
        out[0] = map->Colors[index].Red;
        out[1] = map->Colors[index].Green;
        out[2] = map->Colors[index].Blue;
    }
}

// The row of the frame that comes i-th in the file.
static int row_of(const GifImageDesc *frame, int i) {
    static const int first[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    if (!frame->Interlace)
        return i;
    for (int pass = 0; pass < 4; pass++) {
        int n =
            frame->Height > first[pass] ? (frame->Height - first[pass] - 1) / step[pass] + 1 : 0;
        if (i < n)
            return first[pass] + i * step[pass];
        i -= n;
    }
    return 0;
}

static bool read_rows(GifFileType *gif, const struct glint_rgb *rgb, const ColorMapObject *map,
                      uint8_t *line) {
    const GifImageDesc *frame = &gif->Image;
    for (int i = 0; i < frame->Height; i++) {
        if (DGifGetLine(gif, line, frame->Width) != GIF_OK)
            return false;
        int64_t y = (int64_t)frame->Top + row_of(frame, i);
        uint8_t *out = rgb->data + (y * rgb->width + frame->Left) * 3;
        for (int x = 0; x < frame->Width; x++)
            put_colour(out + (int64_t)3 * x, map, line[x]);
    }
    return true;
}

// Last, so that memory of the screen's size is touched for whole files only.
static void fill_around(const struct glint_rgb *rgb, const GifImageDesc *frame,
                        const ColorMapObject *map, int index) {
    for (int64_t y = 0; y < rgb->height; y++)
        for (int64_t x = 0; x < rgb->width; x++) {
            bool inside = x >= frame->Left && x < frame->Left + frame->Width && y >= frame->Top &&
                          y < frame->Top + frame->Height;
            if (!inside)
                put_colour(rgb->data + 3 * (y * rgb->width + x), map, index);
        }
}

static int larger(int a, int b) {
    return a > b ? a : b;
}

static enum glint_status read_frame(struct glint_rgb *rgb, GifFileType *gif, struct reader *reader,
                                    struct glint_error *err) {
    const char *name = reader->file->name;
    if (!find_frame(gif, reader))
        return glint_fail(err, GLINT_E_FORMAT, "%s: GIF: no whole frame in it", name);
    const GifImageDesc *frame = &gif->Image;
    if (frame->Left < 0 || frame->Top < 0 || frame->Width < 1 || frame->Height < 1)
        return glint_fail(err, GLINT_E_FORMAT, "%s: GIF: found a frame of %d x %d at %d, %d", name,
                          frame->Width, frame->Height, frame->Left, frame->Top);
    GLINT_TRY(glint_picture_room(rgb, larger(gif->SWidth, frame->Left + frame->Width),
                                 larger(gif->SHeight, frame->Top + frame->Height), name, err));
    const ColorMapObject *map = frame->ColorMap ? frame->ColorMap : gif->SColorMap;
    uint8_t *line = glint_alloc((size_t)frame->Width, 1);
    bool good = line && read_rows(gif, rgb, map, line);
    bool starved = !line;
    glint_free(line);
    if (starved)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", name);
    if (!good)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: GIF: the first frame is damaged, or it ends too early", name);
    fill_around(rgb, frame, map, reader->transparent >= 0 ? reader->transparent : 0);
    return GLINT_OK;
}

enum glint_status glint_gif_read(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                 int *orientation, struct glint_error *err) {
    struct reader reader = {.file = file, .transparent = -1};
    int code = 0;
    GifFileType *gif = DGifOpen(&reader, on_read, &code);
    if (!gif)
        return glint_fail(err, GLINT_E_FORMAT, "%s: GIF: %s", file->name, GifErrorString(code));
    *orientation = 1;
    enum glint_status status = read_frame(rgb, gif, &reader, err);
    DGifCloseFile(gif, &code);
    return status;
}
