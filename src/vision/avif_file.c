// SPDX-License-Identifier: Apache-2.0
// avif_file.c — AVIF through libavif: the primary picture, or the first of a sequence, turned as
// irot and imir say. Matrix and range are the file's; the profile is not looked at. EXIF is not
// asked for the orientation: in AVIF it only informs. The AV1 decoder behind it writes to stderr,
// and takes memory for sizes that the container does not know of: runs in a child.
#include "vision/picture_child.h"

#include "base/alloc.h"

#include <avif/avif.h>
#include <string.h>

static enum glint_status damaged(const struct glint_picture_file *file, avifResult result,
                                 const avifDecoder *decoder, struct glint_error *err) {
    return glint_fail(err, result == AVIF_RESULT_OUT_OF_MEMORY ? GLINT_E_NOMEM : GLINT_E_FORMAT,
                      "%s: AVIF: %s%s%s", file->name, avifResultToString(result),
                      decoder->diag.error[0] ? ": " : "", decoder->diag.error);
}

// EXIF's number for a turn by irot, then a mirror by imir.
static int orientation_of(const avifImage *image) {
    enum { NONE, TOP_BOTTOM, LEFT_RIGHT };
    static const uint8_t number[][4] = {
        [NONE] = {1, 8, 3, 6}, [TOP_BOTTOM] = {4, 5, 2, 7}, [LEFT_RIGHT] = {2, 7, 4, 5}};
    int angle = image->transformFlags & AVIF_TRANSFORM_IROT ? image->irot.angle & 3 : 0, mirror;
#if AVIF_VERSION_MAJOR >= 1
    mirror = image->imir.axis;
#else
    mirror = image->imir.mode;
#endif
    mirror = !(image->transformFlags & AVIF_TRANSFORM_IMIR) ? NONE
             : mirror == 0                                  ? TOP_BOTTOM
                                                            : LEFT_RIGHT;
    return number[mirror][angle];
}

// libavif blends what has alpha when it is asked for RGB, so alpha is taken along and left here.
static enum glint_status convert(struct glint_rgb *rgb, const avifDecoder *decoder,
                                 const struct glint_picture_file *file, struct glint_error *err) {
    const size_t n = (size_t)rgb->width * (size_t)rgb->height;
    avifImage *image = decoder->image;
    avifRGBImage out;
    if (image->alphaPlane && !image->alphaPremultiplied)
        avifImageFreePlanes(image, AVIF_PLANES_A);
    const bool alpha = image->alphaPlane != NULL;
    uint8_t *four = alpha ? glint_alloc(n, 4) : NULL;
    if (alpha && !four)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", file->name);
    avifRGBImageSetDefaults(&out, image);
    out.depth = 8;
    out.format = alpha ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
    out.pixels = alpha ? four : rgb->data;
    out.rowBytes = (uint32_t)rgb->width * (alpha ? 4 : 3);
    avifResult result = avifImageYUVToRGB(image, &out);
    for (size_t i = 0; alpha && i < n; i++)
        memcpy(rgb->data + 3 * i, four + 4 * i, 3);
    glint_free(four);
    return result == AVIF_RESULT_OK ? GLINT_OK : damaged(file, result, decoder, err);
}

static enum glint_status read_first(struct glint_rgb *rgb, avifDecoder *decoder,
                                    const struct glint_picture_file *file, int *orientation,
                                    struct glint_error *err) {
    decoder->maxThreads = 1;
    decoder->imageSizeLimit = GLINT_PICTURE_PIXELS;
    decoder->imageDimensionLimit = GLINT_PICTURE_PIXELS;
    decoder->ignoreExif = AVIF_TRUE;
    decoder->ignoreXMP = AVIF_TRUE;
    // Older writers left pixi out and wrote odd clap boxes; neither is looked at, as in Pillow.
    decoder->strictFlags &= ~(avifStrictFlags)(AVIF_STRICT_PIXI_REQUIRED | AVIF_STRICT_CLAP_VALID);
    avifResult result = avifDecoderSetIOMemory(decoder, file->data, file->n);
    if (result == AVIF_RESULT_OK)
        result = avifDecoderParse(decoder);
    if (result != AVIF_RESULT_OK)
        return damaged(file, result, decoder, err);
    avifImage *image = decoder->image;
    GLINT_TRY(glint_picture_child_room(rgb, image->width, image->height, file->name, err));
    result = avifDecoderNextImage(decoder);
    if (result != AVIF_RESULT_OK)
        return damaged(file, result, decoder, err);
    if (image->width != (uint32_t)rgb->width || image->height != (uint32_t)rgb->height)
        return glint_fail(err, GLINT_E_FORMAT,
                          "%s: AVIF: found a frame of %u x %u pixels, expected %d x %d", file->name,
                          image->width, image->height, rgb->width, rgb->height);
    *orientation = orientation_of(image);
    return convert(rgb, decoder, file, err);
}

enum glint_status glint_avif_read(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                  int *orientation, struct glint_error *err) {
    avifDecoder *decoder = avifDecoderCreate();
    if (!decoder)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", file->name);
    enum glint_status status = read_first(rgb, decoder, file, orientation, err);
    avifDecoderDestroy(decoder);
    return status;
}
