// SPDX-License-Identifier: Apache-2.0
// talk_pictures.c — pictures and videos in a conversation: by /image or /video, or by their paths
// in what is typed (as they are, in quotes, with \ before spaces, or as file:// addresses, as
// terminals drop them).
#include "talk.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MAX_PICTURES = 64, PATH_BYTES = 4096 };

// Whether the name is a picture's or a video's; *video tells which.
static bool has_picture_name(const char *path, bool *video) {
    static const char *const ends[] = {".png", ".jpg", ".jpeg", ".webp", ".gif",
                                       ".bmp", ".mp4", ".webm", ".mov",  ".mkv"};
    enum { FIRST_VIDEO = 6 };
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n_end = strlen(ends[i]);
        *video = i >= FIRST_VIDEO;
        if (n > n_end && strcasecmp(path + n - n_end, ends[i]) == 0)
            return true;
    }
    return false;
}

static int hex_value(char c) {
    const char *digits = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;
    return at ? (int)(at - digits) : -1;
}

// "%20" and its like, in place.
static void decode_address(char *path) {
    char *to = path;
    for (const char *at = path; *at; at++) {
        int high = *at == '%' ? hex_value(at[1]) : -1;
        int low = high >= 0 ? hex_value(at[2]) : -1;
        *to++ = low >= 0 ? (char)(high * 16 + low) : *at;
        at += low >= 0 ? 2 : 0;
    }
    *to = 0;
}

// The word at text (of n bytes) as a path; the bytes it takes, 0 for a word that ends badly.
static size_t read_word(const char *text, size_t n, char path[PATH_BYTES]) {
    size_t at = 0, length = 0;
    char quote = text[0] == '"' || text[0] == '\'' ? text[0] : 0;
    for (at = quote != 0; at < n && length + 1 < PATH_BYTES; at++) {
        if (quote ? text[at] == quote : strchr(" \t\r\n", text[at]) != NULL)
            break;
        if (!quote && text[at] == '\\' && at + 1 < n)
            at++;
        path[length++] = text[at];
    }
    if (quote && (at == n || text[at] != quote))
        return 0;
    path[length] = 0;
    if (strncmp(path, "file://", 7) == 0) {
        memmove(path, path + 7, length - 6);
        decode_address(path);
    }
    return at + (quote != 0);
}

// Paths of picture files in a text, in order; paths[i] is for free(). Returns how many.
static size_t find_pictures(const char *text, size_t n, struct glint_dialog_picture *found) {
    size_t n_found = 0;
    bool begins = true; // a word does
    for (size_t at = 0; at < n && n_found < MAX_PICTURES; at++) {
        char path[PATH_BYTES];
        size_t length = begins ? read_word(text + at, n - at, path) : 0;
        begins = strchr(" \t\r\n(", text[at]) != NULL;
        // A full stop, comma or question mark behind a bare path belongs to the sentence.
        size_t n_path = length > 0 ? strlen(path) : 0;
        while (n_path > 0 && length > 0 && strchr(".,;:?!)", path[n_path - 1]) &&
               text[at + length - 1] == path[n_path - 1]) {
            path[--n_path] = 0;
            length--;
        }
        bool video;
        if (length == 0 || !has_picture_name(path, &video) || access(path, R_OK) != 0 ||
            !glint_album_is_file(path))
            continue;
        char *copy = strdup(path);
        if (!copy)
            return n_found;
        found[n_found++] = (struct glint_dialog_picture){copy, video, at, at + length};
        at += length - 1;
    }
    return n_found;
}

// Opens a picture at the album's end and says what it is.
static bool open_picture(struct glint_talk *talk, const char *path, bool video) {
    struct glint_error error = {.status = GLINT_OK};
    if (glint_album_add(&talk->album, path, video, &error) != GLINT_OK) {
        glint_talk_note(talk, "%s", error.text);
        return false;
    }
    struct glint_picture_info info = glint_picture_info(talk->album.pictures[talk->album.n - 1]);
    glint_talk_note(talk, "%s %s: %d x %d pixels, %d tokens", video ? "video" : "picture", path,
                    info.width, info.height, info.n_tokens);
    return true;
}

bool glint_talk_add_picture(struct glint_talk *talk, const char *path, bool video) {
    struct glint_dialog_picture picture = {.path = (char *)(uintptr_t)path, .video = video};
    if (talk->next.n_pictures == MAX_PICTURES) {
        glint_talk_note(talk, "a message holds %d pictures at most", MAX_PICTURES);
        return false;
    }
    if (!open_picture(talk, path, video))
        return false;
    if (glint_dialog_add_picture(&talk->next, &picture))
        return true;
    glint_album_cut(&talk->album, talk->album.n - 1);
    glint_talk_note(talk, "out of memory");
    return false;
}

void glint_talk_forget_next(struct glint_talk *talk) {
    for (size_t i = 0; i < talk->next.n_pictures; i++)
        free(talk->next.pictures[i].path);
    free(talk->next.pictures);
    talk->next.pictures = NULL;
    talk->next.n_pictures = 0;
}

void glint_talk_cut(struct glint_talk *talk, size_t n) {
    glint_dialog_cut(&talk->dialog, n);
    glint_album_cut(&talk->album, glint_dialog_pictures(&talk->dialog, n));
    glint_talk_forget_next(talk);
}

bool glint_talk_add_message(struct glint_talk *talk, const char *text, size_t n) {
    struct glint_dialog_picture pictures[2 * MAX_PICTURES];
    size_t before = talk->album.n, n_given = talk->next.n_pictures;
    if (n_given > 0)
        memcpy(pictures, talk->next.pictures, n_given * sizeof *pictures);
    size_t n_found = find_pictures(text, n, pictures + n_given);
    bool ok = true;
    for (size_t i = 0; i < n_found && ok; i++)
        ok = open_picture(talk, pictures[n_given + i].path, pictures[n_given + i].video);
    if (ok) {
        ok = glint_dialog_add_user(&talk->dialog, (struct glint_json_text){text, n}, pictures,
                                   n_given + n_found);
        if (!ok)
            glint_talk_note(talk, "out of memory");
    }
    for (size_t i = 0; i < n_found; i++)
        free(pictures[n_given + i].path);
    if (ok)
        glint_talk_forget_next(talk);
    else
        glint_album_cut(&talk->album, before);
    return ok;
}
