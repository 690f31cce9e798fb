// SPDX-License-Identifier: Apache-2.0
// webp_file.c — WebP through libwebp: the first frame, on a black canvas where it does not cover
// the whole.
#include "vision/picture_format.h"

#include "base/alloc.h"

#include <string.h>
#include <webp/decode.h>
#include <webp/demux.h>

static int orientation_of(const WebPDemuxer *demuxer) {
    WebPChunkIterator chunk;
    int orientation = 1;
    if (WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk)) {
        const uint8_t *data = chunk.chunk.bytes;
        size_t n = chunk.chunk.size;
        size_t skip = n > 6 && memcmp(data, "Exif\0\0", 6) == 0 ? 6 : 0; // some writers put it
        orientation = glint_exif_orientation(data + skip, n - skip);
    }
    WebPDemuxReleaseChunkIterator(&chunk);
    return orientation;
}

static enum glint_status read_frame(struct glint_rgb *rgb, const WebPDemuxer *demuxer,
                                    const char *name, struct glint_error *err) {
    WebPIterator frame;
    bool found = WebPDemuxGetFrame(demuxer, 1, &frame) != 0, good = false;
    if (found) {
        int64_t right = (int64_t)frame.x_offset + frame.width;
        int64_t bottom = (int64_t)frame.y_offset + frame.height;
        size_t stride = (size_t)rgb->width * 3;
        size_t at = (size_t)frame.y_offset * stride + (size_t)frame.x_offset * 3;
        size_t room = (size_t)rgb->height * stride - at;
        good = frame.complete && frame.x_offset >= 0 && frame.y_offset >= 0 &&
               right <= rgb->width && bottom <= rgb->height &&
               WebPDecodeRGBInto(frame.fragment.bytes, frame.fragment.size, rgb->data + at, room,
                                 (int)stride);
    }
    WebPDemuxReleaseIterator(&frame);
    return good ? GLINT_OK
                : glint_fail(err, GLINT_E_FORMAT, "%s: WebP: the first frame cannot be decoded",
                             name);
}

enum glint_status glint_webp_read(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                  int *orientation, struct glint_error *err) {
    WebPData data = {file->data, file->n};
    WebPDemuxer *demuxer = WebPDemux(&data); // NULL for a file that ends early, too
    if (!demuxer)
        return glint_fail(err, GLINT_E_FORMAT, "%s: WebP: damaged, or it ends too early",
                          file->name);
    *orientation = orientation_of(demuxer);
    enum glint_status status =
        glint_picture_room(rgb, WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH),
                           WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT), file->name, err);
    if (status == GLINT_OK)
        status = read_frame(rgb, demuxer, file->name, err);
    WebPDemuxDelete(demuxer);
    return status;
}
