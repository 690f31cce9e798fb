// SPDX-License-Identifier: Apache-2.0
// heic_file.c — HEIC through libheif: the primary picture. libheif crops, turns and mirrors it as
// the file says, so EXIF is not asked for the orientation. The profile is not looked at. The HEVC
// decoder behind it believes sizes that the container does not know of: runs in a child.
#include "vision/picture_child.h"

#include <libheif/heif.h>
#include <string.h>

static enum glint_status damaged(const struct glint_picture_file *file, struct heif_error error,
                                 struct glint_error *err) {
    enum glint_status status = error.subcode == heif_suberror_Security_limit_exceeded
                                   ? GLINT_E_LIMIT
                               : error.code == heif_error_Memory_allocation_error ? GLINT_E_NOMEM
                               : error.code == heif_error_Unsupported_filetype ? GLINT_E_UNSUPPORTED
                               : error.code == heif_error_Unsupported_feature  ? GLINT_E_UNSUPPORTED
                                                                               : GLINT_E_FORMAT;
    return glint_fail(err, status, "%s: HEIC: %s", file->name,
                      error.message ? error.message : "damaged");
}

static enum glint_status decode(struct glint_rgb *rgb, const struct heif_image_handle *handle,
                                const struct glint_picture_file *file, struct glint_error *err) {
    int stride = 0;
    struct heif_image *image = NULL;
    struct heif_decoding_options *options = heif_decoding_options_alloc();
    if (!options)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", file->name);
    options->convert_hdr_to_8bit = 1;
    options->strict_decoding = 1;
    struct heif_error error = heif_decode_image(handle, &image, heif_colorspace_RGB,
                                                heif_chroma_interleaved_RGB, options);
    heif_decoding_options_free(options);
    if (error.code != heif_error_Ok)
        return damaged(file, error, err);
    const uint8_t *rows = heif_image_get_plane_readonly(image, heif_channel_interleaved, &stride);
    int width = heif_image_get_width(image, heif_channel_interleaved);
    int height = heif_image_get_height(image, heif_channel_interleaved);
    enum glint_status status = GLINT_OK;
    if (!rows || width != rgb->width || height != rgb->height)
        status = glint_fail(err, GLINT_E_FORMAT,
                            "%s: HEIC: found a frame of %d x %d pixels, expected %d x %d",
                            file->name, width, height, rgb->width, rgb->height);
    for (size_t y = 0; status == GLINT_OK && y < (size_t)height; y++)
        memcpy(rgb->data + y * (size_t)width * 3, rows + y * (size_t)stride, (size_t)width * 3);
    heif_image_release(image);
    return status;
}

static enum glint_status read_primary(struct glint_rgb *rgb, struct heif_context *context,
                                      const struct glint_picture_file *file,
                                      struct glint_error *err) {
    struct heif_image_handle *handle = NULL;
    heif_context_set_max_decoding_threads(context, 0);
    struct heif_error error =
        heif_context_read_from_memory_without_copy(context, file->data, file->n, NULL);
    if (error.code == heif_error_Ok)
        error = heif_context_get_primary_image_handle(context, &handle);
    if (error.code != heif_error_Ok)
        return damaged(file, error, err);
    enum glint_status status =
        glint_picture_child_room(rgb, heif_image_handle_get_width(handle),
                                 heif_image_handle_get_height(handle), file->name, err);
    if (status == GLINT_OK)
        status = decode(rgb, handle, file, err);
    heif_image_handle_release(handle);
    return status;
}

enum glint_status glint_heic_read(struct glint_rgb *rgb, const struct glint_picture_file *file,
                                  int *orientation, struct glint_error *err) {
    struct heif_context *context = heif_context_alloc();
    if (!context)
        return glint_fail(err, GLINT_E_NOMEM, "%s: no memory", file->name);
    *orientation = 1;
    enum glint_status status = read_primary(rgb, context, file, err);
    heif_context_free(context);
    return status;
}
