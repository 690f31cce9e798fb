// SPDX-License-Identifier: Apache-2.0
// test_video_file.c — reading a video through its two children, here scripts that say what ffprobe
// and ffmpeg would: frames, sizes and ends that do not fit, and what the children may not do.
#include "album.h"
#include "engine_args.h"
#include "video_file.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[200], video_path[300], old_path[4000];

static void write_file(const char *name, const char *text, char path[300]) {
    snprintf(path, 300, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    chmod(path, 0755);
}

static void scripts(const char *ffprobe, const char *ffmpeg) {
    char path[300], text[2000];
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", ffprobe);
    write_file("ffprobe", text, path);
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", ffmpeg);
    write_file("ffmpeg", text, path);
}

static int make_folder(void **state) {
    (void)state;
    const char *place = getenv("TMPDIR"), *path = getenv("PATH");
    snprintf(folder, sizeof folder, "%s/glint-video-%d", place ? place : "/tmp", (int)getpid());
    snprintf(old_path, sizeof old_path, "%s", path ? path : "");
    mkdir(folder, 0755);
    write_file("video", "not looked at", video_path);
    char with[4300];
    snprintf(with, sizeof with, "%s:%s", folder, old_path);
    return setenv("PATH", with, 1);
}

static int remove_folder(void **state) {
    (void)state;
    static const char *const names[] = {"ffprobe", "ffmpeg", "video", "written"};
    char path[300];
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
    rmdir(folder);
    return setenv("PATH", old_path, 1);
}

#define PROBE "printf 'avg_frame_rate=10/1\\nnb_read_packets=20\\n'"
// Frame after frame of 2 x 1 pixels, each of one letter.
#define FRAMES "for c in a b c d; do printf \"P6\\n2 1\\n255\\n$c$c$c$c$c$c\"; done"

static void test_frames(void **state) {
    (void)state;
    struct glint_video_file video;
    struct glint_error error = {0};
    scripts(PROBE, FRAMES);
    if (glint_video_open(&video, video_path, NULL, &error) != GLINT_OK)
        fail_msg("%s", error.text);
    assert_int_equal(video.n, 4); // 20 frames at 10 a second
    assert_int_equal(video.width, 2);
    assert_int_equal(video.height, 1);
    assert_true(video.seconds[0] == 0 && video.seconds[3] == 1.9);
    for (int i = 0; i < 4; i++) {
        const uint8_t *rgb = glint_video_frame(&video, i);
        assert_non_null(rgb);
        for (int k = 0; k < 6; k++)
            assert_int_equal(rgb[k], 'a' + i);
    }
    assert_null(glint_video_frame(&video, 4)); // there is no more
    glint_video_close(&video);
}

// What ffmpeg is told: the frames by number, the file by its name alone, no other protocol, only
// containers that hold their frames.
static void test_arguments(void **state) {
    (void)state;
    struct glint_video_file video;
    struct glint_error error = {0};
    scripts(PROBE, "echo \"$*\" >&2; exit 1");
    assert_int_equal(glint_video_open(&video, video_path, NULL, &error), GLINT_E_FORMAT);
    static const char *const parts[] = {"-protocol_whitelist file -", "-format_whitelist mov,",
                                        "-i file:/",
                                        "select='eq(n\\,0)+eq(n\\,6)+eq(n\\,12)+eq(n\\,19)'"};
    for (int i = 0; i < 4; i++)
        if (!strstr(error.text, parts[i]))
            fail_msg("\"%s\" lacks \"%s\"", error.text, parts[i]);
}

static void refuse(const char *ffprobe, const char *ffmpeg, const char *part) {
    struct glint_video_file video;
    struct glint_error error = {0};
    scripts(ffprobe, ffmpeg);
    enum glint_status status = glint_video_open(&video, video_path, NULL, &error);
    const uint8_t *second = status == GLINT_OK ? glint_video_frame(&video, 1) : NULL;
    if (status == GLINT_OK)
        glint_video_close(&video);
    assert_null(second);
    if (part && (status == GLINT_OK || !strstr(error.text, part)))
        fail_msg("\"%s\" lacks \"%s\"", error.text, part);
}

static void test_refusals(void **state) {
    (void)state;
    refuse("echo 'moov atom not found' >&2; exit 1", FRAMES, "ffprobe: moov atom not found");
    refuse("echo nothing; exit 0", FRAMES, "ffprobe: not a video");
    refuse("printf 'nb_read_packets=N/A\\n'", FRAMES, "ffprobe: not a video");
    refuse(PROBE, "echo 'no decoder' >&2; exit 1", "ffmpeg: no decoder");
    refuse(PROBE, "printf 'P5\\n2 1\\n255\\n'", "ffmpeg: not a video");
    refuse(PROBE, "printf 'P6\\n99999 99999\\n255\\n'", "ffmpeg: not a video");
    refuse(PROBE, "printf 'P6\\n0 1\\n255\\n'", "ffmpeg: not a video");
    refuse(PROBE, "printf 'P6\\n2 1\\n255\\nabc'", "ffmpeg: not a video");
    // A second frame of another size, and none.
    refuse(PROBE, "printf 'P6\\n2 1\\n255\\nabcdefP6\\n1 1\\n255\\nabc'", NULL);
    refuse(PROBE, "printf 'P6\\n2 1\\n255\\nabcdef'", NULL);
    // More on the standard error than a pipe holds.
    refuse(PROBE, "yes | head -c 300000 >&2; exit 1", "ffmpeg: y");
}

// What add says on the standard error, cut to n bytes.
static enum glint_status add_heard(struct glint_album *album, char *words, size_t n,
                                   struct glint_error *err) {
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    assert_non_null(file);
    dup2(fileno(file), STDERR_FILENO);
    enum glint_status status = glint_album_add(album, video_path, true, err);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(file);
    words[fread(words, 1, n - 1, file)] = 0;
    fclose(file);
    return status;
}

// A vision file without the kernels of both frames: only when asked, and then it is said.
static void test_summed(void **state) {
    (void)state;
    struct glint_engine_args args;
    struct glint_album album;
    struct glint_error error = {0};
    char words[1000];
    scripts(PROBE, FRAMES);
    glint_engine_args_init(&args);
    glint_album_init(&album, &args);
    album.mmproj = "../models/glimmer-mini-mmproj.gguf";
    assert_int_equal(add_heard(&album, words, sizeof words, &error), GLINT_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "v.patch_embd_frames.weight"));
    assert_non_null(strstr(error.text, "--video-summed"));
    assert_null(strstr(words, "sum"));
    album.video_summed = true;
    if (add_heard(&album, words, sizeof words, &error) != GLINT_OK)
        fail_msg("%s", error.text);
    assert_non_null(strstr(words, "--video-summed"));
    assert_non_null(strstr(words, "glimmer-mini-mmproj.gguf"));
    assert_int_equal(glint_picture_info(album.pictures[0]).n_groups, 2);
    glint_album_fini(&album);
}

// A child may not write files, and has no file of ours open.
static void test_confinement(void **state) {
    (void)state;
    char script[600], path[300];
    struct stat info;
    enum { OURS = 200 };
    assert_int_equal(dup2(STDERR_FILENO, OURS), OURS);
    snprintf(script, sizeof script,
             "test -e /proc/$$/fd/%d && echo still open >&2; echo x > '%s/written'; echo >&2 end; "
             "exit 1",
             OURS, folder);
    scripts(PROBE, script);
    struct glint_video_file video;
    struct glint_error error = {0};
    assert_int_equal(glint_video_open(&video, video_path, NULL, &error), GLINT_E_FORMAT);
    close(OURS);
    snprintf(path, sizeof path, "%s/written", folder);
    assert_true(stat(path, &info) != 0 || info.st_size == 0);
    if (strstr(error.text, "still open"))
        fail_msg("%s", error.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames), cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_summed),
        cmocka_unit_test(test_confinement)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
